"""browser_checks.py LCSM RUN RUN2: the pages of lcsm serve and lcsm view in Chromium.

RUN and RUN2 are models of text, RUN with a chat template. Playwright steers the Chromium of the system, or its own. Exit code 77 and a
line where one of them is missing. With LCSM_SHOTS a folder gets screenshots. axe-core is used where its Python package is installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    print("skipped: the Python package playwright is not installed")
    sys.exit(77)
try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError:
    Axe = None
    print("axe-playwright-python is not installed: no audit of accessibility")

LCSM, RUN, RUN2 = sys.argv[1:4]
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
SHOTS = os.environ.get("LCSM_SHOTS")
failed = []


def check(ok, what, *seen):
    if not ok:
        failed.append(what)
        print(f"FAILED: {what}", *seen)


class Server:
    last = None

    def __init__(self, command, *words):
        port = () if "--port" in words else ("--port", "0")
        self.process = subprocess.Popen([LCSM, command, *words, *port, "--quiet"], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        Server.last = self

    def __enter__(self):
        return self.url

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(timeout=30)


def launch(p):
    own = os.environ.get("LCSM_CHROMIUM") or next((f for f in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if f), None)
    try:
        return p.chromium.launch(executable_path=own, args=["--no-sandbox"])
    except Exception as e:  # of several kinds, by what is missing
        print("skipped: no Chromium starts:", str(e).splitlines()[0])
        sys.exit(77)


class Page:
    """A page whose errors count, in one size and colour scheme."""

    def __init__(self, browser, url, size="desk", scheme="light"):
        width, height = SIZES[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15000)
        self.name = f"{size}, {scheme}"
        self.short = f"{size}-{scheme}"
        self.expected = ()
        self.page.on("console", lambda m: check(m.type != "error" or any(w in m.text for w in ("503", *self.expected)), f"console ({self.name})", m.text, m.location.get("url")))
        self.page.on("pageerror", lambda e: check(False, f"script ({self.name})", e))
        self.page.goto(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def audit(self, what):
        """Nothing is wider than the screen, and axe-core has no serious finding."""
        wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        check(wide <= 0, f"{what} fits the screen ({self.name})", wide)
        if SHOTS:
            self.page.screenshot(path=pathlib.Path(SHOTS) / f"{what.replace(' ', '-')}-{self.short}.png", full_page=True)
        if Axe is None:
            return
        found = [(v["id"], v["impact"], [n["target"] for n in v["nodes"]][:3]) for v in Axe().run(self.page).response["violations"]]
        check(not [v for v in found if v[1] in ("serious", "critical")], f"axe: {what} ({self.name})", found)

    def until(self, what, seconds=20):
        """Until an expression holds; the page's policy forbids that it is evaluated inside."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(what):
            if time.monotonic() > end:
                raise SystemExit(f"FAILED: still not after {seconds} s ({self.name}): {what}")
            self.page.wait_for_timeout(50)

    def text(self, where):
        return self.page.locator(where).first.inner_text()


# ---- lcsm serve ----


def pane(page, at=0):
    return page.locator("section.pane").nth(at)


def generate(p, prompt, at=0):
    p.page.fill("#prompt", prompt)
    p.page.click("#go")
    p.until("!document.getElementById('go').disabled")


def tokens_of(p, turn, at=0):
    return pane(p.page, at).locator(".turns > li").nth(turn).locator(".reply > span")


def models_page(browser, url, size, scheme):
    with Page(browser, url, size, scheme) as p:
        p.page.wait_for_selector("select.model option", state="attached")
        p.page.check("#two")
        for at in (0, 1):
            pane(p.page, at).locator(".tokens").fill("24")
            pane(p.page, at).locator(".seed").fill("3")
        pane(p.page, 1).locator("select.model").select_option(index=1)
        generate(p, "the")
        counts = [tokens_of(p, 0, at).count() for at in (0, 1)]
        check(counts == [24, 24], "two models write side by side", counts)
        rates = [pane(p.page, at).locator(".rate").inner_text() for at in (0, 1)]
        check(all(re.fullmatch(r"24 tokens, [\d.]+ tokens/s", r) for r in rates), "tokens per second", rates)
        tokens_of(p, 0).nth(4).click()
        for at in (0, 1):
            pane(p.page, at).locator("details.memory summary").click()
        for at in (0, 1):
            pane(p.page, at).locator(".writes canvas").wait_for()
            pane(p.page, at).locator(".layers table").wait_for()
        p.audit("models")


def branches(browser, url):
    with Page(browser, url) as p:
        p.page.wait_for_selector("select.model option", state="attached")
        pane(p.page).locator(".tokens").fill("20")
        pane(p.page).locator(".seed").fill("5")
        generate(p, "the c")
        whole = tokens_of(p, 0).all_inner_texts()
        tokens_of(p, 0).nth(6).click()
        detail = pane(p.page).locator(".detail")
        check(detail.locator("tr").count() >= 5, "what else was probable")
        detail.get_by_role("button", name=re.compile("^Take")).first.click()
        p.until("!document.getElementById('go').disabled")
        p.until("document.querySelectorAll('.turns > li').length == 2")
        branch = tokens_of(p, 1).all_inner_texts()
        check(branch[:6] == whole[:6] and branch[6] != whole[6] and len(branch) == 27, "a branch with another token", branch, whole)
        tokens_of(p, 1).nth(3).click()
        detail.get_by_role("button", name="Go back to before this token").click()
        p.until("document.querySelectorAll('.turns > li').length == 3")
        check(tokens_of(p, 2).all_inner_texts() == whole[:3], "back to before a token, across a branch")
        pane(p.page).get_by_role("button", name="Continue from here (1)").click()
        check("here" in pane(p.page).locator(".turns > li").nth(0).get_attribute("class"), "continue from an earlier turn")
        generate(p, " and")
        check(tokens_of(p, 3).count() == 20, "it continues")


def memory(browser, url):
    with Page(browser, url) as p:
        p.page.wait_for_selector("select.model option", state="attached")
        pane(p.page).locator(".tokens").fill("8")
        pane(p.page).locator("details.memory summary").click()
        generate(p, "the cat")
        where = pane(p.page)
        where.locator(".writes .read", has_text="Token 15").wait_for()
        check("KiB after 15 tokens" in where.locator(".size").inner_text(), "the size of the memory")
        check(where.locator(".layers tr").count() >= 2, "half-lives")
        check(where.locator(".next tr").count() == 10, "what comes next")
        canvas = where.locator("canvas")
        canvas.focus()
        p.page.keyboard.press("Home")
        read = where.locator(".writes .read").inner_text()
        check(re.fullmatch(r"Token 1, t: layer 0 [\d.e+-]+.*", read), "what the first token wrote", read)
        p.page.keyboard.press("ArrowRight")
        check(where.locator(".writes .read").inner_text().startswith("Token 2, h:"), "and the second")


def chat(browser, url):
    with Page(browser, url) as p:
        p.page.wait_for_selector("select.model option", state="attached")
        kind = pane(p.page).locator("select.kind")
        kind.select_option("chat")
        pane(p.page).locator(".tokens").fill("12")
        generate(p, "the cat")
        check(tokens_of(p, 0).count() > 0 and pane(p.page).locator(".who").count() == 2, "a message has a reply")
        generate(p, "and then")
        check(tokens_of(p, 1).count() > 0, "and the next one")
        tokens_of(p, 1).nth(2).click()
        pane(p.page).locator(".detail").get_by_role("button", name=re.compile("^Take")).first.click()
        p.until("document.querySelectorAll('.turns > li').length == 3 && !document.getElementById('go').disabled")
        check(tokens_of(p, 2).all_inner_texts()[:2] == tokens_of(p, 1).all_inner_texts()[:2], "a reply branches, too")
        p.page.check("#two")
        pane(p.page, 1).locator("select.model").select_option(index=1)
        check(pane(p.page, 1).locator("select.kind option").nth(1).is_disabled(), "a model without a template does not converse")


def by_keyboard(browser, url):
    with Page(browser, url) as p:
        p.page.wait_for_selector("select.model option", state="attached")

        def tab_to(test, most=40):
            for _ in range(most):
                p.page.keyboard.press("Tab")
                if p.page.evaluate(f"(e => {test})(document.activeElement)"):
                    return True
            return False

        check(tab_to("e.id === 'prompt'"), "Tab reaches the text")
        p.page.keyboard.press("Control+A")
        p.page.keyboard.type("the")
        check(tab_to("e.classList.contains('tokens')"), "and the number of tokens")
        p.page.keyboard.press("Control+A")
        p.page.keyboard.type("15")
        p.page.focus("#prompt")
        p.page.keyboard.press("Control+Enter")
        p.until("!document.getElementById('go').disabled && document.querySelectorAll('.reply > span').length == 15")
        check(tab_to("e.classList.contains('reply')"), "Tab reaches the reply")
        for _ in range(3):
            p.page.keyboard.press("ArrowRight")
        check(p.text(".detail h3").startswith("Token 3"), "arrow keys choose a token", p.text(".detail h3"))
        check(tab_to("e.textContent === 'take it'"), "Tab reaches what else there was")
        p.page.keyboard.press("Enter")
        p.until("document.querySelectorAll('.turns > li').length == 2 && !document.getElementById('go').disabled")
        check(p.page.evaluate("document.activeElement.classList.contains('reply')"), "the new branch has the focus")
        check(tab_to("e.localName === 'summary' && e.parentNode.classList.contains('memory')"), "Tab reaches the memory")
        p.page.keyboard.press("Enter")
        pane(p.page).locator(".writes canvas").wait_for()
        check(tab_to("e.localName === 'canvas'"), "and what was written")
        p.page.fill(".tokens", "60000")
        p.page.focus("#prompt")
        p.page.keyboard.type("a")
        p.page.keyboard.press("Control+Enter")
        p.until("document.querySelectorAll('.turns > li').length == 3 && document.querySelectorAll('.turns > li')[2].querySelectorAll('.reply > span').length > 3")
        p.page.keyboard.press("Escape")
        p.until("!document.getElementById('go').disabled")


def is_locked(p):
    return p.page.locator("#access").is_visible() and p.page.evaluate("document.activeElement.id === 'key'")


def with_key(browser):
    """The page asks for the key, says when it is wrong, keeps it over a reload, and asks again when it has changed."""
    file = pathlib.Path("browser-key")
    file.write_text("secret\n")
    words = (RUN, "--api-key-file", str(file), "--state-dir", "browser-states")
    with Server("serve", *words) as url, Page(browser, url) as p:
        p.expected = ("401", "ERR_CONNECTION", "403")
        p.page.wait_for_selector("#access")
        p.until("document.activeElement.id === 'key'")
        check(p.page.is_disabled("#go") and p.text("#access-why") == "", "nothing can be generated without a key")
        p.audit("key")
        for wrong in ("wrong", "fal\u015fch"):
            p.page.keyboard.type(wrong)
            p.page.keyboard.press("Enter")
            p.until("document.getElementById('access-why').textContent.includes('does not accept')")
            check(is_locked(p) and p.page.input_value("#key") == "", "a wrong key is said to be wrong")
        p.page.keyboard.type("secret")
        p.page.keyboard.press("Enter")
        p.page.wait_for_selector("select.model option", state="attached")
        p.until("document.getElementById('access').hidden && document.activeElement.id === 'prompt'")
        p.page.reload()
        p.page.wait_for_selector("select.model option", state="attached")
        check(not p.page.locator("#access").is_visible(), "the tab keeps the key")
        pane(p.page).locator(".tokens").fill("9")
        generate(p, "the")
        check(tokens_of(p, 0).count() == 9, "generated with a key")
        other_key(p, words, file, url)


def other_key(p, words, file, url):
    """The server comes back with another key: the conversation goes on behind it."""
    Server.last.process.terminate()
    Server.last.process.wait(timeout=30)
    file.write_text("another\n")
    with Server("serve", *words, "--port", url.rsplit(":", 1)[1].strip("/")):
        p.page.fill("#prompt", " cat")
        p.page.click("#go")
        p.page.wait_for_selector("#access")
        p.until("document.getElementById('prompt').value === ' cat'")
        check(p.page.locator(".turns > li").count() == 1, "what was refused is no turn")
        p.page.fill("#key", "another")
        p.page.click("#access button")
        p.until("document.getElementById('access').hidden")
        p.page.click("#go")
        p.until("document.querySelectorAll('.turns > li').length == 2 && !document.getElementById('go').disabled")
        check(tokens_of(p, 1).count() == 9, "and goes on with the other key", p.text("section.pane"))


def view_with_key(browser):
    pathlib.Path("browser-key").write_text("secret\n")
    with Server("view", RUN, "--api-key-file", "browser-key") as url, Page(browser, url) as p:
        p.expected = ("401",)
        p.until("document.activeElement.id === 'key'")
        p.audit("view key")
        p.page.keyboard.type("wrong")
        p.page.keyboard.press("Enter")
        p.until("document.getElementById('access-why').textContent.includes('does not accept')")
        p.page.keyboard.type("secret")
        p.page.keyboard.press("Enter")
        p.until("document.getElementById('access').hidden && document.querySelectorAll('#tiles div').length > 5")


# ---- lcsm view ----


def view_page(browser, url, size, scheme):
    with Page(browser, url, size, scheme) as p:
        p.until("document.querySelectorAll('#tiles div').length > 5 && document.querySelector('#charts path')")
        p.page.wait_for_selector("#sample:not([hidden])", state="attached")
        p.audit("view")


def live(browser):
    """A run under way: its numbers change without a reload."""
    train = subprocess.Popen([LCSM, "train", "--data", "text", "--out", "live", "--d-model", "16", "--layers", "1", "--seq-len", "32",
                              "--batch-size", "4", "--minutes", "1", "--log-every", "20", "--quiet"], stdout=subprocess.DEVNULL)
    try:
        while train.poll() is None and not pathlib.Path("live/metrics.jsonl").exists():
            time.sleep(0.05)
        with Server("view", "live") as url, Page(browser, url) as p:
            p.page.wait_for_selector("#state.running")
            step = p.text("#tiles dd")
            p.until(f"document.querySelector('#tiles dd').textContent !== {step!r}")
            check("Time left" in p.text("#tiles") and p.page.locator("#charts path").count() >= 4, "a run under way")
            path = p.page.locator("#charts path").first.get_attribute("d")
            p.until(f"document.querySelector('#charts path').getAttribute('d') !== {path!r}")
            chart = p.page.locator("#charts svg[tabindex]").first
            chart.focus()
            p.page.keyboard.press("Home")
            check(p.text("#charts .read").startswith("step "), "a chart is read by keys", p.text("#charts .read"))
            train.terminate()
            train.wait(timeout=30)
            p.page.wait_for_selector("#state.stopped")
            p.page.select_option("#axis", "seconds")
            p.page.check("#log")
            p.page.select_option("#smooth", "0.97")
    finally:
        train.kill()
        train.wait()


def folder_of_runs(browser):
    with Server("view", ".") as url:
        for size in SIZES:
            with Page(browser, url, size, "dark") as p:
                p.until("document.querySelectorAll('#rows tr').length >= 2")
                p.page.wait_for_selector("#charts path")
                p.audit("view of runs")
                p.page.get_by_role("link", name=os.path.basename(RUN2)).click()
                p.page.locator("#name", has_text=os.path.basename(RUN2)).wait_for()


def main():
    with sync_playwright() as play:
        browser = launch(play)
        with Server("serve", RUN, RUN2) as url:
            for size in SIZES:
                for scheme in ("light", "dark"):
                    models_page(browser, url, size, scheme)
            for part in (branches, memory, chat, by_keyboard):
                part(browser, url)
        with_key(browser)
        view_with_key(browser)
        with Server("view", RUN) as url:
            for size in SIZES:
                for scheme in ("light", "dark"):
                    view_page(browser, url, size, scheme)
        live(browser)
        folder_of_runs(browser)
        browser.close()
    print("all as expected" if not failed else f"{len(failed)} failed")
    return len(failed) > 0


sys.exit(main())
