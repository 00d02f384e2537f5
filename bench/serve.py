#!/usr/bin/env python3
"""Load on lcsm serve: bench/serve.py LCSM RUN [--seconds 300] [--streams 64] [--wide RUN]

Over the loopback address only, and bounded in time and in the number of connections. Three parts:

  soak   so many clients at once, streaming and not, for so many seconds. Every text must be that of the same request alone. Meanwhile a
         second process asks /health ten times a second, and rude clients send what they should not. Reports lost and mixed texts,
         the quantiles of /health, and the resident memory over time.
  rude   what each kind of rude request is answered with.
  wide   tokens per second of 8 requests at once beside those of one, best of some turns, with the model of --wide (large enough
         that reading its weights is the work). Without --wide it is left out.

RUN is a model of text. Exit code 1 if a text was lost or mixed, a rude request was answered wrongly, the server ended, or memory
grew by 1 % or more.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time

CASES = 48
TOKENS = (8, 24, 48, 96)


class Server:
    def __init__(self, lcsm, run, *options):
        words = [lcsm, "serve", run, "--port", "0", "--quiet", "--request-timeout", "5", *options]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def memory(self):
        """Resident bytes, and open files."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
            rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        return 1024 * rss, len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)


def complete(connection, fields):
    """The text of a request; of a stream, put together."""
    connection.request("POST", "/v1/completions", json.dumps(fields).encode())
    r = connection.getresponse()
    data = r.read()
    if r.status != 200:
        raise RuntimeError(f"{r.status}: {data[:200]}")
    if not fields.get("stream"):
        return json.loads(data)["choices"][0]["text"]
    events = data.split(b"\n\n")
    if events[-2:] != [b"data: [DONE]", b""]:
        raise RuntimeError("a stream without its end")
    return "".join(json.loads(e[6:])["choices"][0]["text"] for e in events[:-2])


def cases():
    draw = random.Random(1)
    words = "the king and his lord of a night in which we speak no more but love".split()
    for j in range(CASES):
        prompt = " ".join(draw.choice(words) for _ in range(draw.choice((1, 5, 40, 150))))
        yield {"prompt": prompt, "max_tokens": draw.choice(TOKENS), "seed": j, "temperature": draw.choice((0, 0.8, 1.2)),
               "stream": j % 4 == 0, "ignore_eos": True}


# ---- rude clients ----


def raw(port, *pieces, wait=0.0, close=False):
    """The status of what is sent as it is; 0: closed without an answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        try:
            for piece in pieces:
                s.sendall(piece)
                time.sleep(wait)
            if close:
                return 0
            answer = s.recv(64)
        except OSError:
            return 0
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def post(body, path=b"/v1/completions"):
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (path, len(body), body)


LONG = json.dumps({"prompt": "the", "max_tokens": 20000, "stream": True, "ignore_eos": True}).encode()

# What is sent, and the statuses that are right.
RUDE = {
    "header of 100 KB": (lambda p: raw(p, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100000 + b"\r\n\r\n"), {431, 413, 0}),
    "path of 100 KB": (lambda p: raw(p, b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"), {414, 431, 413, 0}),
    "body said to be 1 TB": (lambda p: raw(p, b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n{"), {413}),
    "body of 9 MB": (lambda p: raw(p, post(b" " * 9000000)), {413, 0}),
    "no JSON": (lambda p: raw(p, post(b"{\"prompt\": ")), {400}),
    "deep JSON": (lambda p: raw(p, post(b"[" * 200000)), {400}),
    "invalid UTF-8": (lambda p: raw(p, post(b"{\"prompt\": \"\xff\"}")), {400}),
    "../ in an id": (lambda p: raw(p, b"GET /v1/states/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"), {404, 400}),
    "%2e%2e in an id": (lambda p: raw(p, b"GET /v1/states/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1\r\nHost: localhost\r\n\r\n"), {404, 400}),
    "../ as a state": (lambda p: raw(p, post(b"{\"prompt\": \"a\", \"state\": \"../../etc/passwd\"}")), {400}),
    "another host": (lambda p: raw(p, b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n"), {403}),
    "no HTTP": (lambda p: raw(p, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), {400, 0}),
    "client that goes before the answer": (lambda p: raw(p, post(LONG), wait=0.1, close=True), {0}),
    "client that goes inside the body": (lambda p: raw(p, post(LONG)[:-20], wait=0.1, close=True), {0}),
    "head, a byte at a time": (lambda p: raw(p, *[b"G"] * 12, wait=1), {0, 408, 400}),
    "body, a byte at a time": (lambda p: raw(p, post(b"x" * 50)[:-50], *[b" "] * 11, wait=1), {0, 408}),
}


def rude(server):
    """{name: statuses}, each sent once."""
    with concurrent.futures.ThreadPoolExecutor(len(RUDE)) as pool:
        jobs = {name: pool.submit(send, server.port) for name, (send, _) in RUDE.items()}
        return {name: job.result() for name, job in jobs.items()}


# ---- the soak ----


def watch_health(port, until):
    """Seconds of each /health, in a process of its own: python bench/serve.py --health PORT SECONDS"""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    took = []
    while time.monotonic() < until:
        begin = time.monotonic()
        c.request("GET", "/health")
        c.getresponse().read()
        took.append(time.monotonic() - begin)
        time.sleep(0.1)
    print(json.dumps(took))


def soak(args):
    counts = collections.Counter()
    tokens = [0]
    asked = list(cases())
    wrong_codes = collections.Counter()
    samples = []
    with Server(args.lcsm, args.run, "--streams", str(args.streams), "--queue", "1000") as server:
        with contextlib.closing(server.connect()) as c:
            alone = [complete(c, {**fields, "stream": False}) for fields in asked]
        end = time.monotonic() + args.seconds
        health = subprocess.Popen([sys.executable, __file__, "--health", str(server.port), str(args.seconds)], stdout=subprocess.PIPE, text=True)

        def client(number):
            draw = random.Random(number)
            c = server.connect()
            while time.monotonic() < end:
                j = draw.randrange(CASES)
                try:
                    ok = complete(c, asked[j]) == alone[j]
                    counts["right" if ok else "mixed"] += 1
                    tokens[0] += asked[j]["max_tokens"]
                except (OSError, RuntimeError, http.client.HTTPException) as e:
                    counts["lost"] += 1
                    print("lost:", type(e).__name__, e)
                    c.close()
                    c = server.connect()
            c.close()

        def be_rude():
            while time.monotonic() < end - 15:
                for name, status in rude(server).items():
                    counts["rude"] += 1
                    if status not in RUDE[name][1]:
                        wrong_codes[f"{name}: {status}"] += 1

        threads = [threading.Thread(target=client, args=(j,)) for j in range(args.streams)] + [threading.Thread(target=be_rude)]
        for t in threads:
            t.start()
        while time.monotonic() < end:
            samples.append((time.monotonic() - end + args.seconds, *server.memory()))
            time.sleep(1)
        for t in threads:
            t.join(timeout=120)
        took = sorted(json.loads(health.communicate(timeout=60)[0]))
        time.sleep(12)
        ended = server.process.poll() is not None
        files = server.memory()[1] if not ended else -1
    report_soak(args, counts, tokens[0], samples, took, wrong_codes, files)
    drift = drift_of(samples, args.seconds)
    return not (counts["lost"] or counts["mixed"] or wrong_codes or ended or drift >= 0.01)


def drift_of(samples, seconds):
    """Resident memory: the median of the last fifth over that of the second fifth, less 1."""
    early = [rss for t, rss, _ in samples if 0.2 * seconds <= t < 0.4 * seconds]
    late = [rss for t, rss, _ in samples if t >= 0.8 * seconds]
    return statistics.median(late) / statistics.median(early) - 1 if early and late else 0.0


def report_soak(args, counts, tokens, samples, took, wrong_codes, files):
    print(f"soak: {args.streams} clients, {args.seconds:.0f} s: {counts['right']} texts as alone, {counts['mixed']} mixed, {counts['lost']} lost; "
          f"{tokens / args.seconds:.0f} tokens/s")
    print(f"  /health: {len(took)} times, median {1000 * took[len(took) // 2]:.1f} ms, p99 {1000 * took[int(0.99 * (len(took) - 1))]:.1f} ms, "
          f"longest {1000 * took[-1]:.1f} ms")
    print(f"  resident memory: {samples[0][1] / 1e6:.1f} MB at first, {samples[-1][1] / 1e6:.1f} MB at the end, "
          f"drift {100 * drift_of(samples, args.seconds):+.2f} %; open files {samples[0][2]} at first, {files} afterwards")
    print(f"  rude requests: {counts['rude']}, answered wrongly: {dict(wrong_codes) or 'none'}")


# ---- one and eight ----


def rate(server, streams, count):
    fields = {"prompt": "the king", "max_tokens": count, "temperature": 0.8, "ignore_eos": True}

    def one(j):
        with contextlib.closing(server.connect()) as c:
            complete(c, {**fields, "seed": j})

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        list(pool.map(one, range(streams)))
    return streams * count / (time.monotonic() - begin)


def wide(args):
    best = {1: 0.0, 8: 0.0}
    options = ["--weights", args.weights] if args.weights else []
    with Server(args.lcsm, args.wide, "--streams", "8", *options) as server:
        for n in best:
            rate(server, n, 2) # what is reserved at first
        for _ in range(args.turns):
            for n in best:
                best[n] = max(best[n], rate(server, n, args.tokens))
    print(f"wide: 1 stream {best[1]:.1f} tokens/s, 8 streams {best[8]:.1f} tokens/s: {best[8] / best[1]:.2f} times; best of {args.turns}")


def main():
    p = argparse.ArgumentParser(description="load on lcsm serve")
    p.add_argument("lcsm")
    p.add_argument("run")
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--streams", type=int, default=64)
    p.add_argument("--wide")
    p.add_argument("--weights")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--tokens", type=int, default=24)
    args = p.parse_args()
    ok = True
    if args.seconds > 0:
        ok = soak(args)
    if args.wide:
        wide(args)
    return 0 if ok else 1


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--health":
        watch_health(int(sys.argv[2]), time.monotonic() + float(sys.argv[3]))
    else:
        sys.exit(main())
