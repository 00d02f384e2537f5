#!/usr/bin/env python3
"""What becomes of a run over ranks when one of them ends, pauses, or is asked to stop.

    bench/mpi-faults.py PROGRAM [--ranks 3] [--times 20] [--mpirun mpirun] [ARGUMENT...]

Kills each rank `times` times: in the start, and then after a random number of steps and a random
part of one, so also in an evaluation and while a checkpoint is written. All must end within 10
seconds with a sentence and a code that is not 0, and the run, resumed by another number of ranks,
must end with the weights of one that nothing happened to. Then one rank is stopped for `--pause`
seconds and goes on, and each gets SIGTERM once. ARGUMENTs are further ones of `lcsm train`.
"""

import argparse
import collections
import filecmp
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

MODEL = (
    "--method gla --d-model 48 --layers 2 --heads 2 --seq-len 32 --threads 1 --data text.txt "
    "--batch-size 6 --shards 3 --dropout 0.1 --steps {steps} --eval-every 7 --save-every 3 --eval-blocks 12"
).split()
RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")


def environment():
    e = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    e |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    return e


class Runs:
    def __init__(self, a):
        self.a = a
        self.program = str(pathlib.Path(a.program).resolve())

    def start(self, ranks, out, resume=False):
        words = [self.a.mpirun] if ranks > 1 else []
        words += ["-n", str(ranks)] if ranks > 1 else []
        words += [self.program, "train", "--out", out]
        more = ["--resume"] if resume else [w.format(steps=self.a.steps) for w in MODEL] + self.a.arguments
        return subprocess.Popen(
            words + more, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def processes(self, out):
        """Process numbers by rank."""
        found = {}
        for p in pathlib.Path("/proc").iterdir():
            try:
                words = (p / "cmdline").read_bytes().split(b"\0")
                if os.readlink(p / "exe") != self.program or out.encode() not in words:
                    continue
                pairs = dict(v.split(b"=", 1) for v in (p / "environ").read_bytes().split(b"\0") if b"=" in v)
                rank = next(int(pairs[k.encode()]) for k in RANK if k.encode() in pairs)
                found[rank] = int(p.name)
            except (OSError, StopIteration, ValueError):
                continue
        return found

    def wait_for(self, job, out, ranks, steps):
        """Until all ranks are there, and so many lines of metrics."""
        metrics = pathlib.Path(out) / "metrics.jsonl"
        while job.poll() is None:
            there = self.processes(out)
            lines = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
            if len(there) == ranks and lines >= steps:
                return there
            time.sleep(0.003)
        return {}

    def end(self, job):
        began = time.monotonic()
        text = job.communicate(timeout=300)[0]
        return time.monotonic() - began, text


def moment(out, text):
    """Where the run was, as far as its folder tells."""
    folder = pathlib.Path(out) / "checkpoints"
    if "Open MPI" not in text and "MPICH" not in text:
        return "start"
    if any(p.name.startswith((".", "tmp")) or ".tmp" in p.name for p in folder.glob("*")):
        return "save"
    try:
        last = json.loads((pathlib.Path(out) / "metrics.jsonl").read_text().splitlines()[-1])
    except (OSError, IndexError, ValueError):
        return "start"
    return "evaluation" if last.get("step", 0) % 7 == 0 else "step"


def check(good, what, text=""):
    if not good:
        sys.exit(f"FAULT: {what}\n{text[-3000:]}")


def same(a, b):
    return filecmp.cmp(f"{a}/model.safetensors", f"{b}/model.safetensors", shallow=False)


def resume(runs, out, ranks, whole):
    _, text = runs.end(job := runs.start(ranks, out, resume=True))
    check(job.returncode == 0, f"{out} was not resumed by {ranks} ranks", text)
    check(same(out, whole), f"{out} has other weights", text)


def kill(pid):
    try:
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        return pid is not None
    except ProcessLookupError:
        return False


def kills(runs, whole, rng):
    a, slowest, where, words = runs.a, 0.0, collections.Counter(), collections.Counter()
    moments = [(rank, number) for rank in range(a.ranks) for number in range(a.times)]
    for trial, (rank, number) in enumerate(moments):
        out = f"killed-{trial}"
        job = runs.start(a.ranks, out)
        if number % 5 == 0:
            time.sleep(rng.uniform(0.05, 0.8))
            there = {}
            while rank not in there and job.poll() is None:
                there = runs.processes(out)
        else:
            there = runs.wait_for(job, out, a.ranks, rng.randrange(1, a.steps * 4 // 5))
            time.sleep(rng.uniform(0, 0.02))
        if not kill(there.get(rank)):  # it was done before
            runs.end(job)
            moments.append((rank, number))
            continue
        seconds, text = runs.end(job)
        slowest = max(slowest, seconds)
        check(seconds < 10, f"{out}: the others took {seconds:.1f} s to end", text)
        check(job.returncode != 0, f"{out}: ended with 0", text)
        said = [w for w in ("has ended, so all end", "signal 9", "KILLED BY SIGNAL") if w in text]
        check(said, f"{out}: no sentence", text)
        time.sleep(0.05)
        left = runs.processes(out)
        check(not left, f"{out}: processes {left} are left", text)
        where[moment(out, text)] += 1
        words.update(said)
        other = rng.choice([n for n in range(1, a.ranks + 2) if n != a.ranks])
        if (pathlib.Path(out) / "config.json").exists():
            resume(runs, out, other, whole)
        subprocess.run(["rm", "-rf", out], check=True)
    print(f"{a.ranks * a.times} kills ({dict(where)}): all ended within {slowest:.1f} s, "
          f"said {dict(words)}; all resumed to the same weights", flush=True)  # fmt: skip


def pauses(runs, whole, rng):
    a = runs.a
    for rank in range(a.ranks) if a.pause > 0 else ():
        out = f"paused-{rank}"
        job = runs.start(a.ranks, out)
        there = runs.wait_for(job, out, a.ranks, 5)
        os.kill(there[rank], signal.SIGSTOP)
        time.sleep(a.pause)
        check(job.poll() is None, f"{out}: ended while rank {rank} was paused")
        os.kill(there[rank], signal.SIGCONT)
        _, text = runs.end(job)
        check(job.returncode == 0 and same(out, whole), f"{out}: did not go on", text)
    print(f"each rank paused for {a.pause} s: the run went on to the same weights", flush=True)


def stops(runs, whole, rng):
    a = runs.a
    for rank in range(a.ranks):
        out = f"stopped-{rank}"
        job = runs.start(a.ranks, out)
        there = runs.wait_for(job, out, a.ranks, 5)
        os.kill(there[rank], signal.SIGTERM)
        seconds, text = runs.end(job)
        check(job.returncode == 143, f"{out}: ended with {job.returncode}", text)
        check('"signal"' in pathlib.Path(out, "metrics.jsonl").read_text(), f"{out}: no word of it", text)
        resume(runs, out, 1 + rank % 2, whole)
    print("each rank got SIGTERM: all saved, ended with 143, and resumed to the same weights", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("program")
    for name, value in [("ranks", 3), ("times", 20), ("steps", 40), ("pause", 20), ("seed", 1), ("mpirun", "mpirun")]:
        p.add_argument("--" + name, type=type(value), default=value)
    a, a.arguments = p.parse_known_args()
    runs, rng = Runs(a), random.Random(a.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("text.txt").write_text("".join(f"{n}\n" for n in range(1, 3001)))
        _, text = runs.end(job := runs.start(1, "whole"))
        check(job.returncode == 0, "the run of one process failed", text)
        kills(runs, "whole", rng)
        pauses(runs, "whole", rng)
        stops(runs, "whole", rng)


if __name__ == "__main__":
    main()
