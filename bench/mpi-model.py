#!/usr/bin/env python3
"""The time of a training step on P ranks, simulated from what `lcsm bench dist` measures.

    bench/mpi-model.py [--latency 50e-6] [--bandwidth 117e6] [--rate 380] [--parameters 44.7e6]
                       [--batch 128] [--length 512] [--long 1048576] [--jitter 0.03] [--steps 200]

A step of train/shards.h: every rank computes its sequences, and sends every other the slice of its
gradients that is the other's (reduce-scatter), `early` of it while backward still runs; they vote;
the squares of the norm go round; each steps its slice, and sends it to all (all-gather). A rank's
network sends one message at a time and receives one at a time; all begin a message of the same
number together, so the slowest rank holds the others up. Times of computing vary from rank to rank
and step to step by `jitter`, a normal deviation as a part of the time.

rate is tokens per second of one rank alone, and `carried` the part of a step that the ops take which
carry something on, both as `lcsm bench train` measures them; early is the part of the parameters
that is not in the embedding, whose gradient is finished last.

The second table has one sequence of `long` tokens over all ranks (train/segments.h). A rank begins
the carried op of a layer when it has come there and the rank before it has sent what it left:
heads x rows x columns numbers. Backward is the same from the other end.
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


def reduce_scatter(a, ranks, compute):
    """What is left of it when backward, two thirds of the computing, is done."""
    block = 4 * a.parameters
    early = exchange(ranks, block * a.early, a.latency, a.bandwidth)
    late = exchange(ranks, block * (1 - a.early), a.latency, a.bandwidth)
    return late + max(0.0, early - compute * 2 / 3)


def simulate(a, ranks, rng):
    """Seconds of a step, and the part of it that is not computing, as means over steps."""
    sequences = math.ceil(a.batch / ranks)
    alone = sequences * a.length / a.rate
    update = 16 * a.parameters / ranks / a.memory  # four arrays of floats through the caches
    block = 4 * a.parameters
    network = reduce_scatter(a, ranks, alone) + (
        4 * votes(ranks, a.latency)
        + exchange(ranks, block, a.latency, a.bandwidth)
        + exchange(ranks, 8 * 1024, a.latency, a.bandwidth)
    )
    slowest = mean = 0.0
    for _ in range(a.steps):
        times = [alone * max(0.0, rng.gauss(1, a.jitter)) for _ in range(ranks)]
        slowest += max(times)
        mean += sum(times) / ranks
    step = slowest / a.steps + update + network
    return step, 1 - (mean / a.steps + update) / step


def wave(a, ranks, begin, own, carried, message):
    """When each rank, in the order in which memory goes, is through all layers: own and carried are
    seconds of a layer for each rank."""
    ready = list(begin)
    for _ in range(a.layers):
        arrives = 0.0
        for p in range(ranks):
            start = max(ready[p] + own[p] / 2, arrives)
            arrives = start + carried[p] + message
            ready[p] = start + carried[p] + own[p] / 2
    return ready


def sequence(a, ranks, rng):
    """Seconds of a step with one long sequence, and the bytes that a rank sends for it."""
    bytes_ = 4 * a.heads * a.rows * a.columns
    message = a.latency + bytes_ / a.bandwidth if ranks > 1 else 0.0
    layer = a.long / ranks / a.rate / a.layers
    total = 0.0
    steps = max(1, a.steps // 20)
    for _ in range(steps):
        vary = [max(0.0, rng.gauss(1, a.jitter)) for _ in range(ranks)]
        own = [layer * (1 - a.carried) * v for v in vary]
        rec = [layer * a.carried * v for v in vary]
        third = lambda x, n: [n * y / 3 for y in x]  # noqa: E731
        done = wave(a, ranks, [0.0] * ranks, third(own, 1), third(rec, 1), message)
        done = wave(a, ranks, done[::-1], third(own[::-1], 2), third(rec[::-1], 2), message)
        total += max(done)
    compute = total / steps
    step = compute + reduce_scatter(a, ranks, layer * a.layers)
    step += exchange(ranks, 4 * a.parameters, a.latency, a.bandwidth)
    return step, 2 * a.layers * bytes_ if ranks > 1 else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, value in [
        ("latency", 50e-6), ("bandwidth", 117e6), ("rate", 380.0), ("parameters", 44.7e6), ("batch", 128),
        ("length", 512), ("jitter", 0.03), ("steps", 200), ("memory", 8e9), ("layers", 6), ("heads", 4),
        ("rows", 64), ("columns", 128), ("long", 1 << 20), ("carried", 0.015), ("early", 0.42), ("most", 1024),
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
    print(f"\nsequence parallel: one sequence of {a.long} tokens, memory {a.heads} x {a.rows} x {a.columns} a layer")
    print(f"{'ranks':>6} {'step s':>9} {'speed-up':>9} {'efficiency':>10} {'MB handed on':>12}")
    alone = a.long / a.rate
    ranks = 1
    while ranks <= a.most:
        step, data = sequence(a, ranks, rng)
        print(f"{ranks:6} {step:9.3f} {alone / step:9.2f} {alone / step / ranks:10.2f} {data / 1e6:12.2f}")
        ranks *= 2


if __name__ == "__main__":
    main()
