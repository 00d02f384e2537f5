"""view_checks.py LCSM RUNS: starts lcsm view on folders and asks it everything.

RUNS is a folder with the finished runs `one`, of text, and `two`, of recall. Only the standard library is used.
"""

import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

LCSM, RUNS = sys.argv[1], pathlib.Path(sys.argv[2])
failed = []


def check(ok, what, *seen):
    if not ok:
        failed.append(what)
        print(f"FAILED: {what}", *seen)


class View:
    def __init__(self, folder, *options):
        self.process = subprocess.Popen([LCSM, "view", str(folder), "--port", "0", "--quiet", *options], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(timeout=30) == 143, "it ends by a signal")

    def ask(self, path, headers=None, method="GET"):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as c:
            c.request(method, path, headers=headers or {})
            r = c.getresponse()
            data = r.read()
            return r.status, json.loads(data) if r.getheader("Content-Type", "").startswith("application/json") else data

    def runs(self):
        return {r["name"]: r for r in self.ask("/v1/view")[1]["runs"]}


def one_run(folder):
    with View(folder) as v:
        status, page = v.ask("/")
        check(status == 200 and b"lcsm view" in page, "the page")
        check(v.ask("/health")[0] == 200, "health")
        view = v.ask("/v1/view")[1]
        check((view["kind"], view["name"]) == ("run", "one"), "a run", view)
        run = view["runs"][0]
        check((run["state"], run["reason"], run["step"], run["steps"]) == ("done", "steps", 40, 40), "its end", run)
        check(run["settings"]["method"] == "gla" and run["left"] is None, "its settings", run)
        check(all(key in run["train"] for key in ("loss", "lr", "grad_norm", "tokens_per_second")), "its last step", run)
        lines = [json.loads(x) for x in (folder / "metrics.jsonl").read_text().splitlines()]
        part = v.ask("/v1/view/runs/one/metrics")[1]
        check(part["lines"] == lines and part["next"] == (folder / "metrics.jsonl").stat().st_size, "its metrics")
        check(v.ask(f"/v1/view/runs/one/metrics?file={part['file']}&from={part['next']}")[1]["lines"] == [], "and nothing after them")
        text = v.ask("/v1/view/runs/one/sample")[1]
        check(isinstance(text["text"], str) and len(text["text"]) > 0, "a text", text)
        check(v.ask("/v1/view/runs/one/sample")[1] == text, "always the same one")
        for path in ("/v1/view/runs/two/metrics", "/v1/view/runs/../metrics", "/v1/view/runs/%2e%2e/metrics", "/v1/view/runs/..%2fone/metrics",
                     "/v1/models", "/v1/states"):
            check(v.ask(path)[0] == 404, f"{path} is not there", v.ask(path))
        check(v.ask("/v1/completions", method="POST")[0] == 404, "nothing is generated")
        check(v.ask("/v1/view", method="POST")[0] == 405, "nothing is changed")
        check(v.ask("/v1/view", headers={"Host": "evil.example"})[0] == 403, "other names are refused")


def under_way(folder):
    """Lines come, a resumed run loses some, and a lock says that a process trains."""
    live = pathlib.Path("live")
    shutil.copytree(folder, live)
    metrics = live / "metrics.jsonl"
    lines = [x for x in metrics.read_text().splitlines(True) if '"end"' not in x]
    metrics.write_text("".join(lines[:2]) + '{"kind":"train","st')
    with View(live) as v:
        part = v.ask("/v1/view/runs/live/metrics")[1]
        check(len(part["lines"]) == 2, "half a line is left for later", part)
        metrics.write_text("".join(lines[:3]))
        more = v.ask(f"/v1/view/runs/live/metrics?file={part['file']}&from={part['next']}")[1]
        check(len(more["lines"]) == 1 and more["from"] == part["next"], "then it comes", more)
        replaced = live / "metrics.new"
        replaced.write_text(lines[0])
        replaced.rename(metrics)
        again = v.ask(f"/v1/view/runs/live/metrics?file={part['file']}&from={more['next']}")[1]
        check(again["from"] == 0 and len(again["lines"]) == 1 and again["file"] != part["file"], "another file is read from its beginning", again)
        metrics.write_text(lines[0] + "no json\n" + lines[2])
        check(len(v.ask("/v1/view/runs/live/metrics")[1]["lines"]) == 2, "what is no JSON is left out")
        check(v.runs()["live"]["state"] == "running", "written lately: under way")
        os.utime(metrics, (1, 1))
        check(v.runs()["live"]["state"] == "stopped", "or not")
        with open(live / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            check(v.runs()["live"]["state"] == "running", "a lock says so too")
            config = json.loads((live / "config.json").read_text())
            (live / "config.json").write_text(json.dumps({**config, "steps": 400}))
            metrics.write_text("".join(json.dumps({"kind": "train", "step": s, "tokens": s, "seconds": s / 10, "loss": 1.0}) + "\n" for s in (10, 20)))
            check(abs(v.runs()["live"]["left"] - 38) < 1e-6, "time left by steps", v.runs()["live"]["left"])
            (live / "config.json").write_text(json.dumps({**config, "steps": 400, "minutes": 0.1}))
            check(abs(v.runs()["live"]["left"] - 4) < 1e-6, "or by minutes", v.runs()["live"]["left"])
        metrics.write_text('{"kind":"end","step":3,"reason":"not-finite"}\n')
        check(v.runs()["live"]["state"] == "failed", "not finite")
        metrics.unlink()
        check(v.runs()["live"]["state"] == "waiting", "nothing yet")
        (live / "failed.txt").write_text("exit 1\n")
        check(v.runs()["live"]["state"] == "failed" and v.runs()["live"]["message"] == "exit 1\n", "given up", v.runs())


def several(runs):
    with View(runs) as v:
        check(v.ask("/v1/view")[1]["kind"] == "folder" and sorted(v.runs()) == ["one", "two"], "a folder of runs", v.runs())
        check(len(v.ask("/v1/view/runs/two/metrics")[1]["lines"]) > 0, "metrics of one")
        check(v.ask("/v1/view/runs/two/sample")[1]["text"] is None, "recall has no text")
        check(v.ask("/v1/view/runs/.lock/metrics")[0] == 404, "no other file")
    study = pathlib.Path("study")
    shutil.copytree(runs, study / "runs")
    about = {"title": "Two", "metric": "loss", "variants": ["first", "second"],
             "runs": [{"name": "one", "variant": 0}, {"name": "two", "variant": 1}, {"name": "three", "variant": 1}, {"name": "../one", "variant": 0}]}
    (study / "experiment.json").write_text(json.dumps(about))
    with View(study) as v:
        view = v.ask("/v1/view")[1]
        check((view["kind"], view["title"]) == ("experiment", "Two"), "an experiment", view)
        check([(r["name"], r["label"], r["state"]) for r in view["runs"]]
              == [("one", "first", "done"), ("two", "second", "done"), ("three", "second", "waiting")], "its runs", view["runs"])
        check(len(v.ask("/v1/view/runs/one/metrics")[1]["lines"]) > 0, "metrics of one of them")
        (study / "experiment.json").write_text("{")
        check(v.ask("/v1/view")[0] == 500, "one that is damaged")


def with_key(folder):
    pathlib.Path("key").write_text("secret\n")
    with View(folder, "--api-key-file", "key") as v:
        check(v.ask("/")[0] == 200 and v.ask("/v1/view")[0] == 401, "a key")
        check(v.ask("/v1/view", headers={"Authorization": "Bearer secret"})[0] == 200, "the key")


def main():
    before = sorted((str(p), p.stat().st_mtime_ns) for p in RUNS.rglob("*"))
    one_run(RUNS / "one")
    under_way(RUNS / "one")
    several(RUNS)
    with_key(RUNS / "one")
    check(before == sorted((str(p), p.stat().st_mtime_ns) for p in RUNS.rglob("*")), "nothing was written")
    print("all as expected" if not failed else f"{len(failed)} failed")
    return len(failed) > 0


sys.exit(main())
