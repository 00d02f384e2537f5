"""openai_checks.py LCSM RUN: the `openai` package against lcsm serve. RUN is a model of bytes with a chat template. Exit code 77 and a
line where the package is not installed."""

import subprocess
import sys

try:
    import openai
except ImportError:
    print("skipped: the Python package openai is not installed")
    sys.exit(77)

LCSM, RUN = sys.argv[1:3]
failed = []


def check(ok, what, *seen):
    if not ok:
        failed.append(what)
        print(f"FAILED: {what}", *seen)


def completions(client):
    ask = dict(model="bytes", prompt="the cat", max_tokens=12, temperature=0)
    whole = client.completions.create(**ask, logprobs=2)
    text = whole.choices[0].text
    check(whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 12, "a completion", whole)
    check(len(whole.choices[0].logprobs.token_logprobs) == 12, "log-probabilities", whole.choices[0].logprobs)
    events = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    check("".join(e.choices[0].text for e in events if e.choices) == text, "a stream")
    check(events[-1].usage.total_tokens == 19, "usage of a stream", events[-1])
    kept = client.completions.create(**{**ask, "max_tokens": 5}, extra_body={"keep_state": True}).choices[0]
    rest = client.completions.create(**{**ask, "prompt": "", "max_tokens": 7}, extra_body={"state": kept.state}).choices[0]
    check(kept.text + rest.text == text, "a state", kept, rest)
    check(len(client.completions.create(model="bytes", prompt=["a", "b"], n=2, max_tokens=1).choices) == 4, "several prompts")


def conversations(client):
    ask = dict(model="bytes", messages=[{"role": "user", "content": "the cat"}], max_completion_tokens=10, seed=3)
    reply = client.chat.completions.create(**ask, logprobs=True, top_logprobs=2)
    check(reply.choices[0].message.role == "assistant" and len(reply.choices[0].logprobs.content) == 10, "a conversation", reply)
    events = list(client.chat.completions.create(**ask, stream=True))
    check("".join(e.choices[0].delta.content or "" for e in events if e.choices) == reply.choices[0].message.content, "a streamed one")


def embeddings(client):
    plain = client.embeddings.create(model="bytes", input=["the cat", "the mat"], encoding_format="float")
    packed = client.embeddings.create(model="bytes", input=["the cat", "the mat"])
    check(len(plain.data) == 2 and len(plain.data[0].embedding) == 16, "embeddings", plain)
    same = all(abs(a - b) < 1e-7 for x, y in zip(plain.data, packed.data) for a, b in zip(x.embedding, y.embedding))
    check(same, "the package's own format, base64")
    check(len(client.embeddings.create(model="bytes", input="a", dimensions=3).data[0].embedding) == 3, "dimensions")


def errors(client, url):
    def raised(kind, call, words):
        try:
            call()
        except kind as e:
            check(words in str(e), f"{kind.__name__} says why", e)
        else:
            check(False, f"{kind.__name__} is raised")

    raised(openai.NotFoundError, lambda: client.completions.create(model="other", prompt="a"), "no model")
    raised(openai.BadRequestError, lambda: client.completions.create(model="bytes", prompt="a", temperature=-1), "temperature")
    raised(openai.BadRequestError, lambda: client.embeddings.create(model="bytes", input=""), "empty")
    wrong = openai.OpenAI(base_url=url, api_key="wrong", max_retries=0)
    raised(openai.AuthenticationError, wrong.models.list, "API key")


def main():
    with open("openai-key", "w", encoding="utf-8") as f:
        f.write("secret\n")
    words = [LCSM, "serve", RUN, "--port", "0", "--quiet", "--api-key-file", "openai-key"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip() + "/v1"
        client = openai.OpenAI(base_url=url, api_key="secret", max_retries=0, timeout=30)
        check([m.id for m in client.models.list()] == ["bytes"], "models")
        completions(client)
        conversations(client)
        embeddings(client)
        errors(client, url)
    finally:
        server.kill()
        server.wait(timeout=30)
    print("all as expected" if not failed else f"{len(failed)} failed")
    return len(failed) > 0


sys.exit(main())
