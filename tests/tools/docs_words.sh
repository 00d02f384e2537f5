#!/bin/sh
# docs_words.sh SOURCE_FOLDER PROGRAM: phrases that are always wrong do not come back, in pages, help
# texts, public headers and the string literals of src/. Style is not judged here.
set -eu
exec python3 - "$1" "$2" <<'PY'
import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]

# What must not appear, and what to write instead.
BANNED = [
    (r"\bthe same bits\b", "bit-identical"),
    (r"\b(is|are) no UTF-8\b", "is not valid UTF-8"),
    (r"\bfor ever\b", "unlimited, without end"),
    (r"\bcounts? more\b", "takes precedence"),
    (r"\bwhat is '", "unexpected argument '"),
    (r"\bor say more\b", "or use at least N"),
    (r"\bsay which\b", "pass --FLAG"),
    (r"\b(writes?|goes|go|going) on\b(?! (stdout|stderr|the|a|one|two|this|all|several))", "continue"),
    (r"\b(is|are|or) no numbers?\b", "NaN or infinite, or: is not a number"),
    (r"\bfirst values\b", "initial values"),
    (r"\bof the (first|second) moment\b", "Adam beta1, beta2"),
    (r"\blargest norm of the gradient\b", "clip the gradient norm"),
    (r"\bmistake inside\b", "internal error (please report)"),
    (r"\bthe one in the middle\b", "median"),
    (r"\bthe one whose half\b", "half-life"),
    (r"\bapart asked for\b|\basked for: ", "required difference"),
    (r"\bnobody\b", "unused"),
    (r"\bRead are\b", "Supported:"),
    (r"\banew\b", "again"),
    (r"\bwould do\b|\bwill do too\b", "expected ..."),
    (r"\bupdates of warm-up\b", "warm-up steps"),
    (r"\bone table for input and output\b", "tie input and output embeddings"),
    (r"\bas good as others\b", "such a model still loads and runs"),
    (r"\btokens to make\b", "tokens to generate"),
    (r"\btakes no '", "unexpected argument '"),
    (r"(?<!there )(?<!There )\bis no (?!longer|more\b|need|better|worse|less\b|room|use\b|test\b)\w+", "is not a ..."),
    (r"\b(tokens|updates|steps|bytes|examples|MB|numbers|bits|nats|flops|floats|lines?) an? "
     r"(second|token|byte|word|step|layer|sequence|line|head|update|core)\b", "per second, per token"),
    (r"[,;:] want\b", "expected"),
    (r": which \w+\?", "an error, not a question"),
    (r"\b(the|a|an|of|to|is|are|in|and|or|that|this|with|for|on|from|by|it|show) \1\b", "each word once"),
]


VERBS = ["bench decode", "bench methods", "bench tokenizer", "bench train", "tokenizer train", "tokenizer encode",
         "tokenizer decode", "tokenizer info"]


def commands():
    """All that the program lists, and the verbs that have a page of their own."""
    listed = subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+)  ", listed, flags=re.M) + VERBS


def pages():
    yield from root.glob("*.md")
    yield from (p for p in root.glob("docs/**/*.md"))
    yield from root.glob("experiments/*/README.md")


def texts():
    for page in pages():
        yield page.relative_to(root), re.sub(r"```text\n.*?```", "", page.read_text(), flags=re.S)
    for command in commands():
        shown = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True, check=True)
        yield f"lcsm {command} --help", shown.stdout
    for header in sorted(root.glob("include/lcsm/*.h")):
        for comment in re.finditer(r"/\*.*?\*/", header.read_text(), flags=re.S):
            yield header.relative_to(root), re.sub(r"\n\s*\* ", " ", comment.group())
    for source in sorted(root.glob("src/**/*.[ch]")):
        code = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.S)
        for literal in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', code):
            yield source.relative_to(root), re.sub(r'"\s*"|\\n', "", literal.group())


found = 0
for name, text in texts():
    flat = re.sub(r"\s+", " ", text)
    for pattern, better in BANNED:
        for match in re.finditer(pattern, flat):
            found += 1
            print(f"{name}: \"{flat[max(0, match.start() - 30):match.end() + 30]}\": write: {better}")
print(f"{found} banned phrases")
sys.exit(found > 0)
PY
