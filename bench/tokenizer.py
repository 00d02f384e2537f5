#!/usr/bin/env python3
"""The tokenizer beside Hugging Face's `tokenizers`, on one core, on the same text and file.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers
    /tmp/venv/bin/python bench/tokenizer.py [TEXT] [TOKENIZER.json] [--program build/lcsm]

TEXT may be compressed by gzip. Without arguments: WikiText-2 and the tokenizer of GPT-NeoX, from
the folder shared/ beside the source folder, or at LCSM_SHARED. Theirs is the best of three ways to
ask: the whole text, a batch of its lines, and a batch without offsets. The ids are compared first.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer  # noqa: E402  the number of threads is read on import

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("LCSM_SHARED", ROOT.parent / "shared")) / "data"


def seconds_of(function, *arguments, **names):
    begun = time.perf_counter()
    result = function(*arguments, **names)
    return time.perf_counter() - begun, result


def theirs(tokenizer, text):
    """Way -> seconds, and the ids of the whole text."""
    times = {}
    times["whole text"], whole = seconds_of(tokenizer.encode, text, add_special_tokens=False)
    lines = text.splitlines(keepends=True)
    for name, function in [("lines", tokenizer.encode_batch),
                           ("lines, no offsets", getattr(tokenizer, "encode_batch_fast", None))]:
        if function:
            times[name], _ = seconds_of(function, lines, add_special_tokens=False)
    return times, whole.ids


def ours(program, text, tokenizer):
    """Seconds, and the ids."""
    bench = subprocess.run([program, "bench", "tokenizer", text, "--tokenizer", tokenizer, "--json"],
                           check=True, capture_output=True)
    rows = {row["case"]: row for row in json.loads(bench.stdout)["results"]}
    opener = gzip.open if str(text).endswith(".gz") else open
    with opener(text, "rb") as file:
        ids = subprocess.run([program, "tokenizer", "encode", "--special", "--tokenizer", tokenizer, "-"],
                             input=file.read(), check=True, capture_output=True).stdout
    return rows["tokenizer/encode"]["seconds"], [int(word) for word in ids.split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("text", nargs="?", default=DATA / "wikitext-2/train.txt.gz")
    parser.add_argument("tokenizer", nargs="?",
                        default=DATA / "tokenizers/gpt-neox-20b-tokenizer.json")
    parser.add_argument("--program", default=ROOT / "build/lcsm")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    opener = gzip.open if str(options.text).endswith(".gz") else open
    with opener(options.text, "rb") as file:
        text = file.read().decode()
    times, their_ids = theirs(Tokenizer.from_file(str(options.tokenizer)), text)
    our_time, our_ids = ours(options.program, options.text, options.tokenizer)
    size = len(text.encode()) / 1e6
    for way, seconds in times.items():
        print(f"tokenizers, {way:18} {seconds:8.3f} s {size / seconds:8.2f} MB/s")
    print(f"lcsm                           {our_time:8.3f} s {size / our_time:8.2f} MB/s")
    print(f"ratio to their best            {min(times.values()) / our_time:8.1f} x, want 3 or more")
    print(f"ids                            {'equal' if our_ids == their_ids else 'DIFFERENT'}")
    return 0 if our_ids == their_ids and min(times.values()) >= 3 * our_time else 1


sys.exit(main())
