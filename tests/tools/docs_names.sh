#!/bin/sh
# docs_names.sh SOURCE_FOLDER [PROGRAM]: what the documentation names exists. Files and names of
# docs/paper-to-code.md; paths, test programs and public names in every page, in CONTRIBUTING.md and in
# the comments of headers.
set -eu
exec python3 - "$1" <<'PY'
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
problems, rows = [], 0
FOLDERS = "src|include|tests|docs|tools|bench|scripts|cmake|experiments|examples|recipes"


def missing(file, names):
    path = root / file
    if not path.is_file():
        return [f"{file} does not exist"]
    text = path.read_text()
    return [f"{file} has no {n}" for n in names if not re.search(rf"\b{re.escape(n)}\b", text)]


# ---- the tables of paper-to-code ----

for line in (root / "docs/paper-to-code.md").read_text().splitlines():
    cells = [c.strip() for c in line.strip("|").split("|")]
    if not line.startswith("|") or cells[0] in ("paper", "method", "file") or set(cells[0]) == {"-"}:
        continue
    files = re.findall(r"`((?:src|include|tests|docs)/[^`]+)`", line)
    names = re.findall(r"`([^`]+)`", cells[2]) if len(cells) > 2 else []
    if len(files) != 1:
        problems.append(f"a row names {len(files)} files, want one: {line}")
    else:
        problems += missing(files[0], names)
    rows += 1

# ---- paths, links and test programs of the pages ----

code = "\n".join(p.read_text() for p in sorted(root.glob("src/**/*.[ch]")) + sorted(root.glob("include/**/*.h")))
code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
words = set(re.findall(r"\w+", code))
files = {p.name for folder in ("src", "include", "tests") for p in root.glob(folder + "/**/*.[ch]")}
pages = [p for p in [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("experiments/*/README.md")]]


def new_file(path):
    return "<" in path or "hgrn2" in path  # a pattern, or what docs/add-a-method.md adds


for page in pages:
    text = page.read_text()
    name = page.relative_to(root)
    for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", text):
        if not new_file(path) and not list(root.glob(path.rstrip("/"))) and not (root / f"{path}.c").exists():
            problems.append(f"{name}: {path} does not exist")
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        if not (page.parent / target).exists():
            problems.append(f"{name}: link to {target}, which does not exist")
    for test in re.findall(r"\btest_\w+", text):
        if test in ("test_len", "test_examples"):  # settings of training
            continue
        if not list(root.glob(f"tests/*/{test}.c")) and test + "_" not in text:
            problems.append(f"{name}: {test} is not a test")
    for public in re.findall(r"`(lcsm_\w+|LCSM_\w+)`", text):
        if public not in words and not new_file(public):
            problems.append(f"{name}: {public} is not in the code")

# ---- the ops of docs/add-a-method.md ----

ops = set(re.findall(r"X\((\w+)\)", (root / "src/graph/op.h").read_text().split("LCSM_OP_LIST(X)")[1].split("/*")[0]))
listed = set(re.findall(r"^\| `(\w+)` \|", (root / "docs/add-a-method.md").read_text(), re.M))
for op in sorted(ops ^ listed):
    problems.append(f"docs/add-a-method.md: the op {op} is " + ("not listed" if op in ops else "not in LCSM_OP_LIST"))

# ---- the methods of the README ----

readme = (root / "README.md").read_text()
family = readme.split("## The models")[1].split("\n## ")[0]
methods = re.findall(r'^    \{"([\w-]+)",', (root / "src/eos/method.c").read_text().split("LCSM_METHODS[]")[1].split("};")[0], re.M)
methods = [m for m in methods if m not in ("code", "custom")]
for method in methods:
    if not re.search(rf"(?<![\w-]){method}(?![\w-])", family):
        problems.append(f"README.md: the table of models has no {method}")
if f"**{len(methods) - 1} methods from" not in readme:
    problems.append(f"README.md: there are {len(methods) - 1} methods beside softmax attention")

# ---- comments of headers ----

HEADERS = [h for folder in ("src", "include", "tests") for h in sorted(root.glob(folder + "/**/*.h"))]
for header in HEADERS:
    comments = " ".join(re.findall(r"/\*.*?\*/", header.read_text(), re.S))
    name = header.relative_to(root)
    for path in re.findall(rf"\b((?:{FOLDERS})/[\w./-]+\.(?:[ch]|md|sh|json))\b", comments):
        if not (root / path).exists() and not (root / "src" / path).exists():
            problems.append(f"{name}: {path} does not exist")
    for file in re.findall(r"(?<![\w/*.<-])(\w+(?:/\w+)*\.[ch])\b", comments):
        if file.split("/")[-1] not in files:
            problems.append(f"{name}: {file} does not exist")
    for public in re.findall(r"\blcsm_\w+", comments):
        if public not in words and not any(w.startswith(public) for w in words):
            problems.append(f"{name}: {public} is not in the code")
    for test in re.findall(r"tests/(test_\w+)", comments):
        if not list(root.glob(f"tests/*/{test}.c")):
            problems.append(f"{name}: {test} is not a test")

print("\n".join(problems) or f"{rows} rows, {len(pages)} pages: every name is there")
sys.exit(1 if problems or rows < 30 else 0)
PY
