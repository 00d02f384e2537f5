#!/bin/sh
# docs_names.sh SOURCE_FOLDER: files and names in docs/paper-to-code.md exist, and the code that
# docs/add-a-method.md walks through is the code of the tree, in under 40 lines.
set -eu
exec python3 - "$1" <<'PY'
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
problems, rows = [], 0


def missing(file, names):
    path = root / file
    if not path.is_file():
        return [f"{file} does not exist"]
    text = path.read_text()
    return [f"{file} has no {n}" for n in names if not re.search(rf"\b{re.escape(n)}\b", text)]


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

source = (root / "src/eos/gla.c").read_text()
blocks = re.findall(r"```c\n(.*?)```", (root / "docs/add-a-method.md").read_text(), re.S)
lines = sum(1 for block in blocks for line in block.splitlines() if line.strip())
for block in blocks:
    if block not in source:
        problems.append("docs/add-a-method.md: a block is not in src/eos/gla.c:\n" + block)
if not 0 < lines < 40:
    problems.append(f"docs/add-a-method.md: {lines} lines of C, want fewer than 40")
if f"takes {lines} lines" not in (root / "docs/add-a-method.md").read_text():
    problems.append(f"docs/add-a-method.md: the code has {lines} lines, and the text says otherwise")

print("\n".join(problems) or f"{rows} rows and {lines} lines of code, all there")
sys.exit(1 if problems or rows < 30 else 0)
PY
