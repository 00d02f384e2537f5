"""serve_checks.py LCSM RUN RUN2: starts servers on free loopback ports and asks them everything.

RUN is a model of bytes, RUN2 one that writes characters of several bytes. Only the standard library
is used; every wait is bounded, and every server is killed at the end.
"""

import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

LCSM, RUN, RUN2 = sys.argv[1:4]
NAME, NAME2 = os.path.basename(RUN), os.path.basename(RUN2)
failed = []


def check(ok, what, *seen):
    if not ok:
        failed.append(what)
        print(f"FAILED: {what}", *seen)


class Server:
    def __init__(self, *options, key=None, runs=(RUN,)):
        self.key = key
        self.process = subprocess.Popen([LCSM, "serve", *runs, "--port", "0", "--quiet", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the server did not start: " + self.process.stderr.read())
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=30)

    def stop(self, number=signal.SIGTERM):
        """The exit code after a signal, and what was printed on stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors

    def open(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        h = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        c.request(method, path, data, {**h, **(headers or {})})
        return c, c.getresponse()

    def ask(self, method, path, body=None, headers=None):
        """(status, document or bytes, headers)"""
        c, r = self.open(method, path, body, headers)
        with contextlib.closing(c):
            data = r.read()
            kind = r.getheader("Content-Type", "")
            return r.status, json.loads(data) if data and kind.startswith("application/json") else data, r.headers

    def complete(self, **fields):
        status, answer, _ = self.ask("POST", "/v1/completions", fields)
        assert status == 200, (status, answer)
        return answer

    def text(self, **fields):
        return self.complete(**fields)["choices"][0]["text"]

    def events(self, **fields):
        c, r = self.open("POST", "/v1/completions", {**fields, "stream": True})
        with contextlib.closing(c):
            assert r.status == 200, (r.status, r.read())
            lines = r.read().decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""], lines[-2:]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def streamed(self, **fields):
        return "".join(e["choices"][0]["text"] for e in self.events(**fields) if e["choices"])

    def metric(self, name):
        text = self.ask("GET", "/metrics")[1].decode()
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


# ---- what is there, and what is not ----


def endpoints(s):
    status, health, headers = s.ask("GET", "/health")
    check(status == 200 and health["status"] == "ok", "health", health)
    check(headers["X-Content-Type-Options"] == "nosniff", "answers are not sniffed")
    status, models, _ = s.ask("GET", "/v1/models")
    check([m["id"] for m in models["data"]] == [NAME, NAME2], "the list of models", models)
    check(s.ask("GET", f"/v1/models/{NAME2}")[1]["id"] == NAME2, "one model")
    layers = s.ask("GET", f"/v1/models/{NAME}/memory")[1]["layers"]
    check(len(layers) == 1 and set(layers[0]) == {"layer", "op", "low", "median", "high"}, "what the memory holds", layers)
    check(s.ask("GET", "/v1/models/other/memory")[0] == 404, "of no other model")
    status, page, headers = s.ask("GET", "/")
    check(status == 200 and page.startswith(b"<!doctype html>"), "the page")
    check("default-src 'none'; script-src 'sha256-" in headers["Content-Security-Policy"], "the policy of the page")
    check(s.ask("HEAD", "/health")[0] == 200, "HEAD is answered as GET")
    check(b"# TYPE lcsm_streams_running gauge" in s.ask("GET", "/metrics")[1], "metrics")
    ids = s.ask("POST", "/tokenize", {"prompt": "the\u00e9"})[1]
    check(ids == {"tokens": [116, 104, 101, 195, 169], "count": 5}, "tokenize", ids)
    check(s.ask("POST", "/detokenize", {"tokens": ids["tokens"]})[1]["prompt"] == "the\u00e9", "detokenize")


def refusals(s):
    def refused(status, code, body, path="/v1/completions", method="POST", words=""):
        have, answer, headers = s.ask(method, path, body)
        error = answer["error"] if isinstance(answer, dict) and "error" in answer else {}
        check(have == status and (code is None or error.get("code") == code) and words in error.get("message", ""),
              f"{method} {path} {str(body)[:60]} is {status}", have, answer)
        return headers

    refused(404, "unknown_url", None, "/v1/nothing", "GET")
    refused(404, "unknown_url", None, "/v1/models/a/b", "GET")
    check(refused(405, None, None, "/v1/completions", "GET")["Allow"] == "POST", "a 405 says what is allowed")
    refused(404, "model_not_found", {"prompt": "a", "model": "other"})
    refused(400, None, b"{\"prompt\": ")
    refused(400, None, b"")
    refused(400, None, b"[1]")
    refused(400, None, b"{\"prompt\": \"a\", \"prompt\": \"b\"}")
    refused(400, None, b"\xff\xfe")
    refused(400, None, b"[" * 100000)
    refused(400, None, {}, words="prompt")
    refused(400, None, {"prompt": "a", "temprature": 1}, words="temperature")
    refused(400, None, {"prompt": 5})
    refused(400, None, {"prompt": [1, 256]})
    refused(400, None, {"prompt": [1, -1]})
    refused(400, None, {"prompt": ["a", 1]})
    refused(400, "unsupported_value", {"prompt": "a", "suffix": "b"})
    refused(400, "unsupported_value", {"prompt": "a", "best_of": 2, "stream": True})
    refused(400, "unsupported_value", {"prompt": "a", "best_of": 2, "keep_state": True})
    refused(400, None, {"prompt": "a", "n": 3, "best_of": 2}, words="best_of")
    for key, value in (("temperature", -1), ("temperature", "hot"), ("top_p", 2), ("n", 0), ("n", 1.5), ("max_tokens", -1),
                       ("max_tokens", 1e9), ("logprobs", 21), ("stop", [""]), ("stop", 3), ("stop", ["a"] * 17),
                       ("seed", "x"), ("stream", 1), ("logit_bias", {"x": 1}), ("logit_bias", {"256": 1}),
                       ("presence_penalty", 3), ("state", "../../etc/passwd"), ("stream_options", {"usage": True})):
        refused(400, None, {"prompt": "a", key: value})
    refused(404, "state_not_found", {"prompt": "a", "state": "state-" + "0" * 32})
    for path in ("/v1/states/..", "/v1/states/%2e%2e", "/v1/states/state-%2e%2e", "/v1/states/x"):
        refused(400, "invalid_state", None, path, "GET")
    refused(404, "unknown_url", None, "/v1/states/..%2f..%2fetc%2fpasswd", "GET")
    check(s.ask("GET", "/v1/models", headers={"Origin": "http://evil.example"})[0] == 403, "another origin is refused")
    check(s.ask("GET", "/v1/models", headers={"Host": "evil.example"})[0] == 403, "another name of the host is refused")
    check(s.ask("GET", "/v1/models", headers={"Origin": f"http://127.0.0.1:{s.port}"})[0] == 200, "the own origin is not")
    check(s.ask("GET", "/health", headers={"X-Large": "x" * 100000})[0] in (413, 431), "a header that is too large")


# ---- texts ----


def cli(*options):
    return subprocess.run([LCSM, "generate", RUN, "--quiet", *options], capture_output=True, text=True, check=True, timeout=60).stdout


def texts(s):
    ask = dict(prompt="the cat", max_tokens=40, temperature=0.8, top_p=0.95)
    alone = s.text(**ask, seed=5)
    check(alone == cli("--prompt", "the cat", "--n", "40", "--seed", "5").removesuffix("\n"), "the text is that of lcsm generate", alone)
    check(alone == s.text(**ask, seed=5), "the same seed, the same text")
    check(alone != s.text(**ask, seed=6), "another seed, another text")
    check(s.text(**ask) != s.text(**ask), "without a seed, another text each time")
    check(s.streamed(**ask, seed=5) == alone, "streamed, the same text")
    a = s.complete(**ask, seed=5, n=3)
    check(len({c["text"] for c in a["choices"]}) == 3 and a["choices"][0]["text"] == alone, "three choices", a)
    check(a["usage"] == {"prompt_tokens": 7, "completion_tokens": 120, "total_tokens": 127}, "usage", a["usage"])
    check([c["index"] for c in s.complete(prompt=["a", "b"], n=2, max_tokens=1)["choices"]] == [0, 1, 2, 3], "several prompts")
    check(s.text(prompt=[116, 104, 101], max_tokens=9, temperature=0) == s.text(prompt="the", max_tokens=9, temperature=0), "token ids")
    check(s.text(prompt="", max_tokens=0) == "", "nothing of nothing")
    *before, last = s.events(prompt="a", max_tokens=2, stream_options={"include_usage": True})
    check(all(e["usage"] is None for e in before), "usage comes last", before)
    check(last["choices"] == [] and last["usage"]["total_tokens"] == 3, "usage of a stream", last)
    check(s.text(prompt="a", max_tokens=5, logit_bias={"120": 100}, temperature=0) == "xxxxx", "logit_bias")
    both = dict(prompt="a", max_tokens=8, logit_bias={"120": 100, "121": 100}, temperature=0)
    for name in ("presence_penalty", "frequency_penalty"):
        check(s.text(**both, **{name: 2}) == penalised(s, name), name)
    check(s.text(**both) != s.text(**both, frequency_penalty=2), "a penalty has an effect")


def best_of(s):
    """The most probable of several texts, by their mean log-probability."""
    ask = dict(prompt=["the", "a cat"], max_tokens=7, temperature=1.5, seed=11, logprobs=0)
    every = s.complete(**ask, n=5)["choices"]
    a = s.complete(**ask, n=2, best_of=5)
    for at in (0, 1):
        mean = sorted(every[5 * at:5 * at + 5], key=lambda c: -sum(c["logprobs"]["token_logprobs"]) / len(c["logprobs"]["token_logprobs"]))
        best = a["choices"][2 * at:2 * at + 2]
        check([c["text"] for c in best] == [c["text"] for c in mean[:2]], "the best of five", best, mean)
    check([c["index"] for c in a["choices"]] == [0, 1, 2, 3] and a["usage"]["completion_tokens"] == 70, "their numbers, and what all cost", a)


def penalised(s, name):
    """What the definition of a penalty gives for a choice between x and y."""
    text = ""
    while len(text) < 8:
        echoed = s.complete(prompt=[f"a{text}{c}" for c in "xy"], max_tokens=0, echo=True, logprobs=0)["choices"]
        value = {}
        for c, e in zip("xy", echoed):
            times = text.count(c) if name == "frequency_penalty" else min(text.count(c), 1)
            value[c] = e["logprobs"]["token_logprobs"][-1] - 2 * times
        text += max(value, key=value.get)
    return text


def embed(s, **fields):
    status, answer, _ = s.ask("POST", "/v1/embeddings", fields)
    assert status == 200, (status, answer)
    return answer


def vectors(s, **fields):
    return [e["embedding"] for e in embed(s, **fields)["data"]]


def embeddings(s):
    """Unit vectors, the same alone and beside others, in both formats."""
    texts = ["the cat", "a", "the cat sat on the mat. " * 30, "mat"]
    a = embed(s, input=texts)
    check([e["index"] for e in a["data"]] == [0, 1, 2, 3] and a["usage"]["prompt_tokens"] == sum(map(len, texts)), "a list of texts", a["usage"])
    together = [e["embedding"] for e in a["data"]]
    check([vectors(s, input=t)[0] for t in texts] == together, "an embedding does not depend on what is beside it")
    check(all(len(v) == 16 and abs(sum(x * x for x in v) - 1) < 1e-6 for v in together), "of length 1")
    mean = vectors(s, input=texts[0], normalize=False)[0]
    norm = sum(x * x for x in mean) ** 0.5
    check(max(abs(x / norm - y) for x, y in zip(mean, together[0])) < 1e-6, "or the mean itself")
    words = [vectors(s, input=list(b"the"), normalize=False)[0], vectors(s, input=[[116], [116, 104]], normalize=False)]
    first, second = words[1][0], [2 * y - x for x, y in zip(*words[1])]
    check(len(words[0]) == 16 and first != second, "token ids", words)
    packed = embed(s, input=texts, encoding_format="base64")["data"]
    check([list(struct.unpack("<16f", base64.b64decode(e["embedding"]))) for e in packed] == [[f32(x) for x in v] for v in together], "base64")
    short = vectors(s, input=texts[0], dimensions=4)[0]
    scale = sum(x * x for x in together[0][:4]) ** 0.5
    check(len(short) == 4 and max(abs(x / scale - y) for x, y in zip(together[0], short)) < 1e-6, "fewer dimensions")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        busy = [pool.submit(s.text, prompt="the cat", max_tokens=60, seed=j) for j in range(3)]
        again = list(pool.map(lambda t: vectors(s, input=t)[0], texts))
        check(again == together and all(b.result() for b in busy), "also while texts are written")
    for body in ({}, {"input": ""}, {"input": []}, {"input": [""]}, {"input": 3}, {"input": ["a", 1]}, {"input": [999]}, {"input": "a", "dimensions": 17},
                 {"input": "a", "dimensions": 0}, {"input": "a", "encoding_format": "int8"}, {"input": "a", "stream": True}, {"prompt": "a"}):
        status, answer, _ = s.ask("POST", "/v1/embeddings", body)
        check(status == 400, f"embeddings of {body} are refused", status, answer)
    check("input" in s.ask("POST", "/v1/embeddings", {"input": 3})[1]["error"]["param"], "a fault names the input")


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def stops(s):
    whole = s.text(prompt="the cat", max_tokens=60, temperature=0)
    stop = whole[10:14]
    a = s.complete(prompt="the cat", max_tokens=60, temperature=0, stop=["\x01zzz", stop])["choices"][0]
    check(a["text"] == whole[:whole.index(stop)] and a["finish_reason"] == "stop", "a stop text across tokens", a, whole)
    check(s.streamed(prompt="the cat", max_tokens=60, temperature=0, stop=stop) == a["text"], "a stop text in a stream")
    a = s.complete(prompt="the cat", max_tokens=12, temperature=0, stop=whole[10:40])["choices"][0]
    check(a["text"] == whole[:12] and a["finish_reason"] == "length", "the beginning of a stop text is handed out at the end", a)


def characters(s):
    ask = dict(model=NAME2, prompt="é€", max_tokens=48, temperature=0)
    events = s.events(**ask)
    pieces = [e["choices"][0]["text"] for e in events]
    text = "".join(pieces)
    check(text == s.text(**ask) and len(text.encode()) >= 40, "characters of several bytes", text)
    check(all("\ufffd" not in p for p in pieces[:-1]) and "€" in text, "none is cut between two events", pieces)
    check(s.text(model=NAME2, prompt=list("é€".encode()), max_tokens=0, echo=True) == "é€", "echo")


def log_probabilities(s):
    a = s.complete(prompt="the cat sat", max_tokens=0, echo=True, logprobs=2)["choices"][0]
    l = a["logprobs"]
    check(a["text"] == "the cat sat" and "".join(l["tokens"]) == a["text"], "echo", a)
    check(l["token_logprobs"][0] is None and l["top_logprobs"][0] is None and l["text_offset"] == list(range(11)), "the first token", l)
    check(all(t[tok] == p for tok, p, t in list(zip(l["tokens"], l["token_logprobs"], l["top_logprobs"]))[1:]),
          "each token is in its own list")
    one = s.complete(prompt="the cat sa", max_tokens=1, temperature=0, logprobs=20)["choices"][0]["logprobs"]
    # cut differently, so equal but for rounding of float
    check(abs(one["top_logprobs"][0]["t"] - l["token_logprobs"][10]) < 1e-4, "scored as it is generated", one)
    check(one["text_offset"] == [10], "offsets begin behind the prompt", one)
    b = s.complete(prompt="the cat", max_tokens=1, echo=True, logprobs=1, temperature=0)["choices"][0]["logprobs"]
    check(len(b["tokens"]) == 8 and b["token_logprobs"][7] == max(b["top_logprobs"][7].values()), "echo and one token", b)
    e = s.events(prompt="the", max_tokens=4, echo=True, logprobs=1, temperature=0)
    got = [t for x in e for t in x["choices"][0]["logprobs"]["tokens"]]
    check("".join(got) == "".join(x["choices"][0]["text"] for x in e), "log-probabilities of a stream", got)
    long = "the cat sat on the mat. " * 20
    n = len(s.complete(prompt=[long, long], max_tokens=0, echo=True, logprobs=0)["choices"][1]["logprobs"]["tokens"])
    check(n == len(long), "long prompts", n)


TEMPLATE = ("{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</{{ m['role'] }}>{% endfor %}"
            "{% if add_generation_prompt %}<assistant>{% endif %}")


def conversations(s):
    """Messages are the text of the template, and the reply is what continues it."""
    sampling = {"model": NAME, "temperature": 0.7, "seed": 9, "max_tokens": 12}
    messages = [{"role": "user", "content": [{"type": "text", "text": "the "}, {"type": "text", "text": "cat"}]}]
    status, answer, _ = s.ask("POST", "/v1/chat/completions", {"messages": messages, **sampling})
    check(status == 200 and answer["object"] == "chat.completion", "a conversation", status, answer)
    reply = answer["choices"][0]["message"]
    text = s.text(prompt="<user>the cat</user><assistant>", **sampling)
    check(reply == {"role": "assistant", "content": text}, "a reply continues the template's text", reply, text)
    check(answer["usage"]["prompt_tokens"] == len("<user>the cat</user><assistant>"), "its usage", answer["usage"])

    c, r = s.open("POST", "/v1/chat/completions", {"messages": messages, "stream": True, **sampling})
    with contextlib.closing(c):
        events = [json.loads(e.removeprefix("data: ")) for e in r.read().decode().split("\n\n")[:-2]]
    check(all(e["object"] == "chat.completion.chunk" for e in events), "events of a conversation")
    deltas = [e["choices"][0]["delta"] for e in events if e["choices"]]
    check(deltas[0].get("role") == "assistant", "the first event names the role", deltas[:1])
    check("".join(d.get("content", "") for d in deltas) == text, "a streamed reply", deltas)

    def refused(status, body, words):
        got, answer, _ = s.ask("POST", "/v1/chat/completions", body)
        check(got == status and words in answer["error"]["message"], f"refused: {words}", got, answer)

    refused(400, {"model": NAME2, "messages": messages}, "has no chat template")
    refused(400, {"model": NAME}, "messages")
    refused(400, {"model": NAME, "messages": []}, "messages")
    refused(400, {"model": NAME, "messages": [{"content": "x"}]}, "role")
    refused(400, {"model": NAME, "messages": [{"role": "user"}]}, "content")
    refused(400, {"model": NAME, "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "not a text")


def parallel(s):
    """More streams than slots, of different lengths, each as alone."""
    asks = [dict(prompt=("the cat sat on the mat. " * (1 + 7 * (j % 3)))[: 5 + 31 * j], max_tokens=10 + 9 * (j % 5), seed=j,
                 temperature=0.9, model=(NAME, NAME2)[j % 2]) for j in range(12)]
    alone = [s.text(**a) for a in asks]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda a: s.streamed(**a), asks))
    for j, (a, b) in enumerate(zip(alone, together)):
        check(a == b, f"stream {j} is as alone", a, b)


# ---- states ----


def states(s):
    ask = dict(temperature=0.7, seed=4)
    whole = s.text(prompt="the cat", max_tokens=30, **ask)
    a = s.complete(prompt="the cat", max_tokens=12, keep_state=True, **ask)["choices"][0]
    check(a["state"].startswith("state-"), "a state is kept", a)
    rest = s.text(state=a["state"], prompt="", max_tokens=18, **ask)
    check(a["text"] + rest == whole, "a state continues without its past", a, rest, whole)
    check(s.text(state=a["state"], prompt="", max_tokens=18, **ask) == rest, "twice: a branch")
    info = s.ask("GET", f"/v1/states/{a['state']}")[1]
    check(info["position"] == 19 and info["model"] == NAME and info["parent"] is None, "facts of a state", info)
    b = s.complete(state=a["state"], prompt=" on", max_tokens=6, keep_state=True, **ask)["choices"][0]
    check(s.ask("GET", f"/v1/states/{b['state']}")[1]["parent"] == a["state"], "a parent")
    back = s.ask("POST", f"/v1/states/{b['state']}/rollback", {"tokens": 6})[1]
    check(back["position"] == 22, "rolled back", back)
    check(s.text(state=back["id"], prompt="", max_tokens=6, **ask) == b["text"], "continues from there as before")
    status, data, _ = s.ask("GET", f"/v1/states/{a['state']}/content")
    check(status == 200 and len(data) == info["bytes"], "download")
    up = s.ask("POST", "/v1/states", data)[1]
    check(s.text(state=up["id"], prompt="", max_tokens=18, **ask) == rest, "upload", up)
    check(s.ask("POST", f"/v1/states?model={NAME2}", data)[0] == 400, "a state of another model is refused")
    check(s.ask("POST", "/v1/states", data[:-1])[0] == 400, "a damaged state is refused")
    check(s.ask("POST", "/v1/states", b"")[0] == 400, "an empty state is refused")
    check(s.ask("POST", "/v1/completions", {"model": NAME2, "state": a["state"], "prompt": "x"})[0] == 400, "of another model")
    check(s.ask("POST", f"/v1/states/{b['state']}/rollback", {"tokens": 1000})[0] == 400, "rolled back too far")
    check(s.ask("DELETE", f"/v1/states/{up['id']}")[1]["deleted"] is True, "deleted")
    check(s.ask("GET", f"/v1/states/{up['id']}")[0] == 404, "and gone")
    check([x["id"] for x in s.ask("GET", "/v1/states")[1]["data"]][-1] != up["id"], "the list of states")
    many = s.complete(prompt="the", n=3, max_tokens=3, keep_state=True)["choices"]
    check(len({c["state"] for c in many}) == 3, "a state of each choice", many)
    last = s.events(prompt="the", max_tokens=3, keep_state=True)[-1]["choices"][0]
    check(last["state"].startswith("state-"), "a state of a stream", last)


def writes(s):
    """What each token of a conversation wrote, over several states."""
    a = s.complete(prompt="the cat", max_tokens=5, keep_state=True)["choices"][0]
    b = s.complete(state=a["state"], prompt=" on", max_tokens=2, keep_state=True)["choices"][0]
    first, both = (s.ask("GET", f"/v1/states/{x['state']}/writes")[1] for x in (a, b))
    check(first["tokens"][:7] == list("the cat") and len(first["tokens"]) == 12 and len(both["tokens"]) == 17, "tokens of a conversation", both)
    check(both["tokens"][12:15] == list(" on"), "and of the one that continues it")
    one, two = first["layers"][0]["write"], both["layers"][0]["write"]
    check(len(one) == 12 and all(x > 0 and abs(x - y) < 1e-4 * x for x, y in zip(one, two)), "what they wrote", one, two)
    data = s.ask("GET", f"/v1/states/{a['state']}/content")[1]
    up = s.ask("POST", "/v1/states", data)[1]["id"]
    check(s.ask("GET", f"/v1/states/{up}/writes")[0] == 409, "the tokens of an uploaded state are not known")
    s.ask("DELETE", f"/v1/states/{a['state']}")
    check(s.ask("GET", f"/v1/states/{b['state']}/writes")[0] == 409, "nor those of a parent that is gone")
    check(s.ask("GET", "/v1/states/state-" + "0" * 32 + "/writes")[0] == 404, "nor is a state")


def weights():
    with Server("--weights", "q8", runs=(RUN2,)) as s:
        text = s.text(prompt="é", max_tokens=20, temperature=0.8, top_p=0.95, seed=2)
        options = ("--weights", "q8", "--prompt", "é", "--n", "20", "--seed", "2", "--quiet")
        alone = subprocess.run([LCSM, "generate", RUN2, *options], capture_output=True, check=True, timeout=60).stdout.decode(errors="replace")
        check(text == alone.removesuffix("\n"), "--weights", text, alone)
    bad = subprocess.run([LCSM, "serve", RUN, "--weights", "q9"], capture_output=True, text=True, timeout=60)
    check(bad.returncode != 0 and "q9" in bad.stderr, "a type of weights that is not one", bad.stderr)


def certificate():
    """HTTPS, where openssl can make a certificate."""
    if shutil.which("openssl") is None:
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "tls.key", "-out",
                    "tls.crt", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    with Server("--tls-cert", "tls.crt", "--tls-key", "tls.key") as s:
        trust = ssl.create_default_context(cafile="tls.crt")

        def secure(method, path, body=None):
            with contextlib.closing(http.client.HTTPSConnection("localhost", s.port, timeout=60, context=trust)) as c:
                c.request(method, path, None if body is None else json.dumps(body))
                return c.getresponse().read()

        check(b"ok" in secure("GET", "/health"), "HTTPS")
        ask = {"prompt": "the cat", "max_tokens": 30, "temperature": 0}
        text = json.loads(secure("POST", "/v1/completions", ask))["choices"][0]["text"]
        events = secure("POST", "/v1/completions", {**ask, "stream": True}).decode().split("\n\n")
        check("".join(json.loads(e[6:])["choices"][0]["text"] for e in events[:-2]) == text, "a stream over HTTPS")
        with contextlib.suppress(OSError, http.client.HTTPException):
            check(s.ask("GET", "/health")[0] >= 400, "HTTP is not answered there")
        check(s.stop()[0] == 143, "it ends")
    bad = subprocess.run([LCSM, "serve", RUN, "--port", "0", "--tls-cert", "tls.key", "--tls-key", "tls.crt"], capture_output=True, text=True, timeout=60)
    check(bad.returncode == 3 and "certificate" in bad.stderr, "a certificate that is not one", bad.returncode, bad.stderr)


def restart():
    folder = pathlib.Path("states")
    with Server("--state-dir", str(folder)) as s:
        whole = s.text(prompt="the cat", max_tokens=30, temperature=0)
        a = s.complete(prompt="the cat", max_tokens=12, temperature=0, keep_state=True)["choices"][0]
        b = s.complete(prompt="the cat", max_tokens=3, temperature=0, keep_state=True)["choices"][0]
        second = subprocess.run([LCSM, "serve", RUN, "--port", "0", "--state-dir", str(folder)], capture_output=True, text=True, timeout=60)
        check(second.returncode == 3 and "another server" in second.stderr, "a folder has one server", second.stderr)
        check(s.stop()[0] == 128 + signal.SIGTERM, "stopped")
    (folder / f"{b['state']}.state").write_bytes(b"short")
    (folder / ("state-" + "1" * 32 + ".state")).write_bytes(b"without facts")
    (folder / "stranger.txt").write_text("stays")
    with Server("--state-dir", str(folder)) as s:
        rest = s.text(state=a["state"], prompt="", max_tokens=18, temperature=0)
        check(a["text"] + rest == whole, "a conversation continues after a restart", a, rest, whole)
        check([x["id"] for x in s.ask("GET", "/v1/states")[1]["data"]] == [a["state"]], "what is damaged is left out")
    check((folder / "stranger.txt").exists() and not (folder / ("state-" + "1" * 32 + ".state")).exists(), "only own files are removed")


def budget():
    with Server() as s:
        size = s.ask("GET", "/v1/states/" + s.complete(prompt="a", keep_state=True)["choices"][0]["state"])[1]["bytes"]
    with Server("--state-bytes", str(2 * size + size // 2)) as s:
        ids = [s.complete(prompt=p, keep_state=True)["choices"][0]["state"] for p in "ab"]
        s.text(state=ids[0], prompt="x")
        ids.append(s.complete(prompt="c", keep_state=True)["choices"][0]["state"])
        have = [s.ask("GET", f"/v1/states/{i}")[0] for i in ids]
        check(have == [200, 404, 200], "the least recently used state goes", have)
        check(s.metric("lcsm_states_evicted_total") == 1, "and is counted")
    with Server("--state-bytes", "10") as s:
        check(s.ask("POST", "/v1/completions", {"prompt": "a", "keep_state": True})[0] == 507, "no room for any state")


# ---- limits ----


# More than a server can write while a test waits, on any machine.
LONG = {"prompt": "the", "max_tokens": 5000000, "ignore_eos": True}
MANY = ("--max-tokens", "5000000")


def limits():
    pathlib.Path("key").write_text("secret-key\n")
    with Server("--api-key-file", "key", "--streams", "1", "--queue", "1", "--max-body", "2000", "--max-prompt", "100", "--request-timeout",
                "1", *MANY, key="secret-key") as s:
        for wrong in ("", "Bearer", "Bearer ", "Bearer secret-ke", "Bearer secret-keyx", "Bearer xecret-key", "Basic secret-key"):
            status, answer, headers = s.ask("GET", "/v1/models", headers={"Authorization": wrong})
            check(status == 401 and headers["WWW-Authenticate"] == "Bearer", f"the key '{wrong}' is refused", status)
        check(s.ask("GET", "/v1/models")[0] == 200, "the key")
        check(s.ask("GET", "/health", headers={"Authorization": ""})[0] == 200, "health needs none")
        check(s.ask("POST", "/v1/completions", {"prompt": "a" * 3000})[0] == 413, "a body that is too large")
        check(s.ask("POST", "/v1/completions", iter([b"x" * 1000] * 3))[0] == 413, "so too in chunks")
        check(s.ask("POST", "/v1/completions", {"prompt": "a" * 101})[1]["error"]["code"] == "context_length_exceeded", "a long prompt")

        first, _ = s.open("POST", "/v1/completions", {**LONG, "stream": True})
        check(until(lambda: s.metric("lcsm_streams_running") == 1), "one stream runs")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waits = pool.submit(s.ask, "POST", "/v1/completions", {"prompt": "a", "max_tokens": 1})
            check(until(lambda: s.metric("lcsm_requests_waiting") == 1), "one request waits")
            status, answer, headers = s.ask("POST", "/v1/completions", {"prompt": "a"})
            check(status == 429 and int(headers["Retry-After"]) > 0, "the next one is refused", status, answer)
            check(s.ask("GET", "/health")[0] == 200, "health is answered meanwhile")
            first.close()
            check(waits.result(timeout=10)[0] == 200, "a client that goes makes room")
        check(until(lambda: s.metric("lcsm_requests_cancelled_total") == 1), "it is counted")
        silent, = [socket.create_connection(("127.0.0.1", s.port), timeout=10)]
        body = json.dumps(LONG).encode()
        silent.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret-key\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        check(until(lambda: s.metric("lcsm_streams_running") == 1), "a client that waits for the whole text")
        silent.close()
        check(until(lambda: s.metric("lcsm_requests_cancelled_total") == 2 and s.metric("lcsm_streams_running") == 0), "goes too")
        slowloris(s)
    with Server(*MANY, "--timeout", "0.5") as s:
        check(s.ask("POST", "/v1/completions", LONG)[0] == 504, "a request that takes too long")
        check(s.text(prompt="a", max_tokens=1) != "", "makes room for others")


def slowloris(s):
    begin = time.monotonic()
    slow = [socket.create_connection(("127.0.0.1", s.port), timeout=10) for _ in range(5)]
    for c in slow[:4]:
        c.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n")
    slow[3].sendall(b"Authorization: Bearer secret-key\r\nContent-Length: 100\r\n\r\n{")
    closed = set()
    while len(closed) < 5 and time.monotonic() < begin + 8:
        for j, c in enumerate(slow):
            try:
                if j < 3:
                    c.sendall(b"X")
                elif j == 3:
                    c.sendall(b" ")
                c.setblocking(False)
                if c.recv(1000) == b"":
                    closed.add(j)
            except BlockingIOError:
                pass
            except OSError:
                closed.add(j)
            finally:
                c.setblocking(True)
        time.sleep(0.1)
    check(len(closed) == 5, "connections that dawdle are closed", closed)
    for c in slow:
        c.close()


def stopping():
    with Server("--grace", "60") as s:
        c, r = s.open("POST", "/v1/completions", {"prompt": "the", "max_tokens": 20000, "ignore_eos": True, "stream": True})
        first = r.readline()
        s.process.send_signal(signal.SIGINT)
        rest = r.read()
        _, errors = s.process.communicate(timeout=60)
        check(first.startswith(b"data: ") and rest.endswith(b"data: [DONE]\n\n") and b'"length"' in rest, "a request under way is finished", rest[-200:])
        check(s.process.returncode == 130 and errors == "", "then the server ends", s.process.returncode, errors)
        c.close()
    with Server(*MANY, "--grace", "0") as s:
        c, r = s.open("POST", "/v1/completions", {**LONG, "stream": True})
        code, errors = s.stop()
        check(code == 143 and b"the server is stopping" in r.read(), "or told that it is not", code, errors)
        c.close()


def main():
    pathlib.Path(RUN, "chat_template.jinja").write_text(TEMPLATE)
    with Server(runs=(RUN, RUN2), *("--streams", "5")) as s:
        for part in (endpoints, refusals, texts, embeddings, stops, characters, log_probabilities, conversations, parallel, states, writes):
            part(s)
        check(until(lambda: s.metric("lcsm_streams_running") == 0 and s.metric("lcsm_requests_waiting") == 0), "nothing is left over")
        code, errors = s.stop()
        check(code == 143 and errors == "", "the end", code, errors)
    for part in (restart, budget, weights, certificate, limits, stopping):
        part()
    print("all as expected" if not failed else f"{len(failed)} failed")
    return len(failed) > 0


sys.exit(main())
