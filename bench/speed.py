#!/usr/bin/env python3
"""The tables of docs/speed.md about reduced precision: decoding, prompts, several sequences, start and training.

    bench/speed.py [--program build/lcsm] [--models FOLDER] [--llama FOLDER] [--rwkv PROGRAM]
                   [--torch PYTHON] [--only decode,slots,start,train] [--turns 5] [--threads 1,2]

Ours and the peers run in turns, each several times; a table has the best of each and, in brackets, the median of the ratios of
neighbouring runs. What is not installed is left out. Peers:

    --llama   the folder with llama-bench and llama-quantize, built with -DGGML_NATIVE=ON
    --rwkv    a program that takes a model file and a number of threads and prints "decode N tok/s": a loop over rwkv_eval
    --torch   a Python with PyTorch, for the scripts of shared/peers/torch (LCSM_SHARED)

FOLDER has a run folder for each model: mamba-130m, mamba2-130m, rwkv7-191m and the like, imported or trained for one step;
only shapes matter. Their GGUF files are made beside them when they are first needed. For rwkv.cpp: rwkv4-f32.bin and rwkv4-f16.bin.
With LCSM_PREFIX every program runs behind these words, for example "chrt -f 1".
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("LCSM_SHARED", ROOT.parent / "shared"))
PREFIX = shlex.split(os.environ.get("LCSM_PREFIX", ""))

# Ours, llama.cpp's name, and how its file is made: exported, or by llama-quantize.
TYPES = [("f32", "f32", "export"), ("f16", "f16", "export"), ("bf16", "bf16", "quantize"), ("q8", "q8_0", "export"),
         ("q4", "q4_0", "quantize"), ("q4k", "q4_k_s", "quantize")]
RWKV = {"f32": "FP32", "f16": "FP16"}


def run(command, **options):
    """Standard output, seconds and peak memory in MB."""
    begun = time.perf_counter()
    process = subprocess.Popen(PREFIX + [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               **options)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return out, time.perf_counter() - begun, usage.ru_maxrss / 1024


def in_turns(turns, *programs):
    """A list of results for each program."""
    results = [[] for _ in programs]
    for _ in range(turns):
        for j, program in enumerate(programs):
            if program is not None:
                results[j].append(program())
    return results


def beside(ours, theirs):
    """Rates: the best of each, their ratio and the median of the ratios of turns."""
    if not theirs:
        return f"{max(ours):.1f} | | "
    median = statistics.median(a / b for a, b in zip(ours, theirs))
    return f"{max(ours):.1f} | {max(theirs):.1f} | {max(ours) / max(theirs):.2f}x ({median:.2f}x)"


# ---- decoding ----


def gguf(o, model, kind):
    """The file of a model in a type of llama.cpp, or None."""
    name, how = next((t[1], t[2]) for t in TYPES if t[0] == kind)
    file, full = o.models / f"{model}-{name}.gguf", o.models / f"{model}-f32.gguf"
    if file.exists():
        return file
    try:
        if how == "export":
            run([o.program, "export", o.models / model, file, "--format", "gguf", "--type", name])
        else:
            run([o.llama / "llama-quantize", full, file, name.upper()])
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return None
    return file


def ours(o, model, kind, threads, *more):
    out, _, _ = run([o.program, "bench", "decode", o.models / model, "--weights", kind, "--threads", threads, "--seconds",
                     o.seconds, "--json", *more])
    return json.loads(out)["results"][0]


def llama(o, file, threads, prompt, count):
    """Tokens a second, the best of four."""
    out, _, _ = run([o.llama / "llama-bench", "-m", file, "-t", threads, "-p", prompt, "-n", count, "-r", 4, "-o", "json"])
    return max(json.loads(out)[0]["samples_ts"])


def rwkv(o, kind, threads):
    out, _, _ = run([o.rwkv, o.models / f"rwkv4-{kind}.bin", threads])
    return float(re.search(r"decode ([0-9.]+)", out)[1])


def models_of(o):
    return sorted(p.name for p in o.models.iterdir() if (p / "config.json").exists())


def decode(o):
    print("| model | type | threads | MB a token | tok/s | peer | ratio | of the rate of reading | prompt tok/s | peer | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for model in models_of(o):
        for kind, _, _ in TYPES:
            peer = gguf(o, model, kind) if o.llama else None
            for threads in o.threads:
                both = in_turns(o.turns, lambda: ours(o, model, kind, threads),
                                peer and (lambda: llama(o, peer, threads, 0, 32)),
                                peer and (lambda: llama(o, peer, threads, 512, 0)))
                mine = both[0]
                if not peer and o.rwkv and model.startswith("rwkv4") and kind in RWKV:
                    both = in_turns(o.turns, lambda: ours(o, model, kind, threads), lambda: rwkv(o, kind, threads)) + [[]]
                    mine = both[0]
                bound = max(r["fraction_of_bound"] for r in mine)
                print(f"| {model} | {kind} | {threads} | {mine[0]['weight_bytes'] / 1e6:.1f} "
                      f"| {beside([r['tokens_per_second'] for r in mine], both[1])} | {bound:.2f} "
                      f"| {beside([r['prefill_tokens_per_second'] for r in mine], both[2])} |", flush=True)


def slots(o):
    print("| model | type | sequences | tok/s | one | times one | of the bound |")
    print("|---|---|---|---|---|---|---|")
    for model in models_of(o):
        for kind in ("f32", "bf16", "q8", "q4"):
            both = in_turns(o.turns, lambda: ours(o, model, kind, max(o.threads), "--slots", "8,32"))[0]
            for j, n in enumerate((8, 32)):
                rows = [r["slots"][j] for r in both]
                best = max(rows, key=lambda r: r["times_one"])
                middle = statistics.median(r["times_one"] for r in rows)
                print(f"| {model} | {kind} | {n} | {best['tokens_per_second']:.0f} | {best['one_tokens_per_second']:.1f} "
                      f"| {best['times_one']:.1f} ({middle:.1f}) "
                      f"| {best['tokens_per_second'] / best['bound_tokens_per_second']:.2f} |", flush=True)


def start(o):
    """Whole processes: one token from a file in the page cache."""
    print("| model | file, MB | first token, s | peer | peak memory, MB | of the file | peer, MB |")
    print("|---|---|---|---|---|---|---|")
    for model in models_of(o):
        if not (o.models / model / "tokenizer.json").exists():
            continue
        file = o.models / model / "model.safetensors"
        peer = gguf(o, model, "f32") if o.llama else None
        size = file.stat().st_size / 2**20
        command = [o.program, "generate", o.models / model, "--prompt", "a", "--n", "1", "--quiet"]
        theirs = [o.llama / "llama-bench", "-m", peer, "-t", max(o.threads), "-p", 0, "-n", 1, "-r", 1, "--no-warmup"] if peer else None
        both = in_turns(o.turns, lambda: run(command), theirs and (lambda: run(theirs)))
        best = [min((r[1] for r in rows), default=float("nan")) for rows in both]
        peak = [min((r[2] for r in rows), default=float("nan")) for rows in both]
        print(f"| {model} | {size:.0f} | {best[0]:.2f} | {best[1]:.2f} | {peak[0]:.0f} | {peak[0] / size:.2f} | {peak[1]:.0f} |",
              flush=True)


# ---- training ----

GPT2 = "--method attention --vocab 50257 --d-model 768 --layers 12 --heads 12 --hidden 3072 --seq-len 64".split()
STEPS = [
    # title, arguments of lcsm bench train, PyTorch's script in float32, in bf16
    ("GLA 44.7 M, B4 T512", [], "bench_lm_2.py --reps 3 --compile 1", "bench_lm_2.py --reps 3 --compile 1 --bf16 1"),
    ("GLA 44.7 M, B1 T8192", "--batch-size 1 --seq-len 8192".split(), None, None),
    ("softmax 124 M, B4 T64", [*GPT2, "--batch-size", "4"], "bench_lm_2.py --gpt2 1 --mixer sdpa --d 768 --layers 12 --heads 12 "
     "--vocab 50257 --n 64 --B 4 --reps 3 --compile 1",
     "bench_lm_2.py --gpt2 1 --mixer sdpa --d 768 --layers 12 --heads 12 --vocab 50257 --n 64 --B 4 --reps 3 --compile 1 --bf16 1"),
    ("softmax 124 M, B1 T64", [*GPT2, "--batch-size", "1"], "bench_lm_2.py --gpt2 1 --mixer sdpa --d 768 --layers 12 --heads 12 "
     "--vocab 50257 --n 64 --B 1 --reps 3 --compile 1",
     "bench_lm_2.py --gpt2 1 --mixer sdpa --d 768 --layers 12 --heads 12 --vocab 50257 --n 64 --B 1 --reps 3 --compile 1 --bf16 1"),
    ("recall, 512 x 64", ["--task", "mqar"], "bench_mqar_2.py", None),
]


def our_step(o, arguments, precision):
    out, _, _ = run([o.program, "bench", "train", "--json", "--threads", max(o.threads), "--seconds", 4, "--precision", precision,
                     *arguments])
    result = json.loads(out)
    return result["seconds"], result["memory"]["max_rss"] / 2**20


def their_step(o, script):
    folder = SHARED / "peers" / "torch"
    out, _, _ = run([o.torch, *script.split()], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": str(max(o.threads))})
    rows = [json.loads(line) for line in out.splitlines() if "maxrss" in line]
    best = min(rows, key=lambda r: r["ms_min"])
    return best["ms_min"] * 1e-3, best["maxrss_mb"]


def train(o):
    print("| step | precision | seconds | beside float32 | memory, MB | beside float32 | PyTorch, seconds | ratio | memory, MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, arguments, full, half in STEPS:
        scripts = [s if o.torch else None for s in (full, half)]
        rows = in_turns(o.turns, lambda: our_step(o, arguments, "float32"), lambda: our_step(o, arguments, "bf16"),
                        *(s and (lambda s=s: their_step(o, s)) for s in scripts))
        for j, precision in enumerate(("float32", "bf16")):
            seconds, memory = min(r[0] for r in rows[j]), min(r[1] for r in rows[j])
            plain, room = min(r[0] for r in rows[0]), min(r[1] for r in rows[0])
            theirs = min((r[0] for r in rows[2 + j]), default=None)
            peer = "| | |" if theirs is None else (f"| {theirs:.3f} | {theirs / seconds:.2f}x "
                                                   f"| {min(r[1] for r in rows[2 + j]):.0f} |")
            print(f"| {title} | {precision} | {seconds:.3f} | {plain / seconds:.2f}x | {memory:.0f} | {memory / room:.2f} {peer}",
                  flush=True)


PARTS = {"decode": decode, "slots": slots, "start": start, "train": train}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "lcsm")
    p.add_argument("--models", type=pathlib.Path, default=pathlib.Path("models"))
    p.add_argument("--llama", type=pathlib.Path)
    p.add_argument("--rwkv", type=pathlib.Path)
    p.add_argument("--torch", type=pathlib.Path)
    p.add_argument("--only", default=",".join(PARTS))
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--seconds", type=float, default=1)
    o = p.parse_args()
    o.threads = [int(t) for t in o.threads.split(",")]
    for part in o.only.split(","):
        print(f"\n## {part}\n")
        PARTS[part](o)


if __name__ == "__main__":
    main()
