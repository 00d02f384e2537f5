#!/usr/bin/env python3
"""The time of a training step on P ranks, simulated from what `lcsm bench dist` measures.

    bench/mpi-model.py [--latency 50e-6] [--bandwidth 117e6] [--rate 380] [--parameters 44.7e6]
                       [--batch 128] [--length 512] [--jitter 0.03] [--steps 200]

A step of train/shards.h: every rank computes its sequences; they vote; each sends every other the
slice of its gradients that is the other's (reduce-scatter); the squares of the norm go round; each
steps its slice, and sends it to all (all-gather). A rank's network sends one message at a time and
receives one at a time; all begin a message of the same number together, so the slowest rank holds
the others up. Times of computing vary from rank to rank and step to step by `jitter`, a normal
deviation as a part of the time.

rate is tokens per second of one rank alone, measured by `lcsm bench train`. The second table is the
design of sequence parallelism in docs/many-machines.md: what each rank sends for one layer is the
map of its segment, the memory and its decays.
"""

import argparse
import math
import random


def votes(ranks, latency):
    return math.ceil(math.log2(ranks)) * latency if ranks > 1 else 0


def exchange(ranks, total_bytes, latency, bandwidth):
    """Each rank sends 1/ranks of the bytes to every other, one message after the other."""
    part = total_bytes / ranks
    return sum(latency + part / bandwidth for _ in range(ranks - 1))


def simulate(a, ranks, rng):
    """Seconds of a step, and the part of it that is not computing, as means over steps."""
    sequences = math.ceil(a.batch / ranks)
    alone = sequences * a.length / a.rate
    update = 16 * a.parameters / ranks / a.memory  # four arrays of floats through the caches
    block = 4 * a.parameters
    network = (
        4 * votes(ranks, a.latency)
        + 2 * exchange(ranks, block, a.latency, a.bandwidth)
        + exchange(ranks, 8 * 1024, a.latency, a.bandwidth)
    )
    slowest = mean = 0.0
    for _ in range(a.steps):
        times = [alone * max(0.0, rng.gauss(1, a.jitter)) for _ in range(ranks)]
        slowest += max(times)
        mean += sum(times) / ranks
    step = slowest / a.steps + update + network
    return step, 1 - (mean / a.steps + update) / step


def sequence(a, ranks):
    """A design, not a measurement: one sequence of `long` tokens over the ranks."""
    floats = a.layers * a.heads * (a.rows * a.columns + a.rows)
    gathers = 2 * a.layers  # forward and backward
    data = 2 * 4 * floats * (ranks - 1) / a.bandwidth + gathers * votes(ranks, a.latency)
    compute = a.long / ranks / a.rate * (1 + a.second if ranks > 1 else 1)
    reduce = 2 * exchange(ranks, 4 * a.parameters, a.latency, a.bandwidth)
    return compute + data + reduce, floats * 4 * 2 * (ranks - 1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, value in [
        ("latency", 50e-6), ("bandwidth", 117e6), ("rate", 380.0), ("parameters", 44.7e6), ("batch", 128),
        ("length", 512), ("jitter", 0.03), ("steps", 200), ("memory", 8e9), ("layers", 6), ("heads", 8),
        ("rows", 128), ("columns", 64), ("long", 1 << 20), ("second", 0.15), ("most", 1024),
    ]:  # fmt: skip
        p.add_argument("--" + name, type=type(value), default=value)
    a = p.parse_args()
    rng = random.Random(1)
    first, _ = simulate(a, 1, rng)
    print(f"data parallel: {a.parameters:.3g} parameters, batches of {a.batch} x {a.length}")
    print(f"{'ranks':>6} {'step s':>9} {'speed-up':>9} {'efficiency':>10} {'waiting':>8} {'MB sent':>8}")
    ranks = 1
    while ranks <= a.most:
        if ranks <= a.batch:
            step, waiting = simulate(a, ranks, rng)
            sent = 8 * a.parameters * (ranks - 1) / ranks / 1e6
            print(
                f"{ranks:6} {step:9.3f} {first / step:9.2f} {first / step / ranks:10.2f} "
                f"{waiting:8.2f} {sent:8.0f}"
            )
        else:
            print(f"{ranks:6}  a batch has no more than {a.batch} sequences")
        ranks *= 2
    print(f"\nsequence parallel (design): one sequence of {a.long} tokens, memory {a.heads} x {a.rows} x {a.columns} a layer")
    print(f"{'ranks':>6} {'step s':>9} {'speed-up':>9} {'efficiency':>10} {'MB of maps':>10}")
    alone, _ = sequence(a, 1)
    ranks = 1
    while ranks <= a.most:
        step, data = sequence(a, ranks)
        print(f"{ranks:6} {step:9.3f} {alone / step:9.2f} {alone / step / ranks:10.2f} {data / 1e6:10.2f}")
        ranks *= 2


if __name__ == "__main__":
    main()
