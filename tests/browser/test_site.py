"""The built site in a real browser, at three widths, dark and light; ``make docs`` has built it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.browser.chromium import Page, opened

# A page of another origin gets a process of its own, which is there until the browser goes.
pytestmark = [pytest.mark.timeout(300), pytest.mark.leaves("process")]

SITE = Path(__file__).parents[2] / "build" / "site"
WIDTHS = (360, 800, 1280)
# Whatever reaches over the right edge of the window and does not scroll by itself.
TOO_WIDE = """
[...document.querySelectorAll("article *, header *, footer *")].filter((element) => {
  const box = element.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1) return false;
  for (let around = element.parentElement; around; around = around.parentElement) {
    const style = getComputedStyle(around);
    const inside = around.getBoundingClientRect().right <= innerWidth + 1;
    if (inside && ["auto", "scroll", "hidden"].includes(style.overflowX)) return false;
  }
  return true;
}).map((element) => element.tagName + "." + element.className + ": " + element.innerText)
"""
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# Wide code and wide tables: each with whether it scrolls by itself.
SCROLLERS = """
[...document.querySelectorAll(".highlight code, .md-typeset__scrollwrap")]
  .filter((element) => element.scrollWidth > element.clientWidth + 1)
  .map((element) => [element.tagName, getComputedStyle(element).overflowX])
"""
# Names in tables that go on in another line.
TORN = r"""
[...document.querySelectorAll("td:not(:last-child) code")]
  .filter((name) => /^[\w.]+$/.test(name.innerText) && name.getClientRects().length > 1)
  .map((name) => name.innerText)
"""
# What the reader can click: it has a size, and nothing lies over its middle.
REACHABLE = """
((selector) => [...document.querySelectorAll(selector)].some((element) => {
  const box = element.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  return box.width > 0 && element.contains(document.elementFromPoint(x, y));
}))(%r)
"""
# What a reader types -> where the first page answers it; pages that say more may come before.
QUESTIONS = {
    "what does an AfterModel hook read": "#what-does-an-aftermodel-hook-read",
    "fail closed": "#which-key-makes-a-hook-fail-closed",
    "system policy file": "#where-is-the-system-policy-file",
    "exit code 3": "#what-does-exit-code-3-mean",
    "use it with LangChain": "#how-do-i-use-it-with-langchain",
    "why was a call blocked yesterday": "#how-do-i-see-why-a-call-was-blocked-yesterday",
    # Names that stand in code, between brackets, quotes and dots.
    "onFailure": "reference/settings.html",
    "run_tool": "guard.html",
    "settings.local.json": "reference/files.html",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server has the site, in a folder as the real one; its own process, as browsers keep
    connections to it open."""
    assert (SITE / "index.html").is_file(), "there is no build/site; run make docs first"
    root = tmp_path_factory.mktemp("served")
    (root / "hookline").symlink_to(SITE)
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(
        [*command, "--directory", root],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        port = re.search(r"port (\d+)", server.stdout.readline())
        assert port is not None
        yield f"http://127.0.0.1:{port[1]}/hookline/"
        server.kill()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def seen(browser: Page, address: str) -> Iterator[Page]:
    """A window in which nothing goes wrong and nothing is asked of another host."""
    browser.requests.clear()
    browser.errors.clear()
    yield browser
    assert browser.errors == []
    local = (address, SITE.as_uri(), "data:", "about:", "blob:")
    assert [url for url in browser.requests if not url.startswith(local)] == []


def visit(page: Page, url: str, *, width: int = 1280) -> None:
    resize(page, width)
    page.send("Page.navigate", url=url)
    page.evaluate(
        "new Promise((done) => document.readyState === 'complete' ? done()"
        " : addEventListener('load', done))"
    )


def resize(page: Page, width: int) -> None:
    size = {"width": width, "height": 860, "deviceScaleFactor": 1, "mobile": False}
    page.send("Emulation.setDeviceMetricsOverride", **size)


def type_keys(page: Page, text: str) -> None:
    """One key after the other, since the search listens to keys."""
    for key in text:
        page.press(key)


def wait_for(page: Page, question: str) -> None:
    answer = page.evaluate(
        f"new Promise((done) => {{ const start = Date.now(); const look = () =>"
        f" ({question}) ? done(true) : Date.now() - start > 10000 ? done(false)"
        f" : setTimeout(look, 50); look(); }})"
    )
    assert answer is True, f"it never came true that {question}"


def test_no_page_is_wider_than_its_window_and_wide_blocks_scroll_by_themselves(
    seen: Page, address: str
) -> None:
    pages = sorted(
        str(path.relative_to(SITE))
        for path in SITE.rglob("*.html")
        if 'http-equiv="refresh"' not in path.read_text(encoding="utf-8")
    )
    assert len(pages) > 30
    scrolled = set()
    for name in pages:
        visit(seen, address + name)
        for width, scheme in product(WIDTHS, ("light", "dark")):
            resize(seen, width)
            seen.prefer(scheme)
            window = f"{name} at {width}, {scheme}"
            assert seen.evaluate(SIDEWAYS) is False, f"{window}: it scrolls sideways"
            assert seen.evaluate(TOO_WIDE) == [], f"{window}: too wide"
            assert seen.evaluate(TORN) == [], f"{window}: torn apart"
            for kind, overflow in seen.evaluate(SCROLLERS):
                assert overflow in ("auto", "scroll"), f"{window}: a {kind} is cut off"
                scrolled.add(kind)
    assert scrolled == {"CODE", "DIV"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_can_be_switched(
    seen: Page, address: str, scheme: str
) -> None:
    seen.prefer(scheme)
    visit(seen, address + "index.html")
    seen.evaluate("localStorage.clear()")
    visit(seen, address + "index.html")
    name = "slate" if scheme == "dark" else "default"
    wait_for(seen, f"document.body.dataset.mdColorScheme === {name!r}")
    light = "getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'"
    assert seen.evaluate(light) is (scheme == "light")
    before = seen.evaluate("document.body.dataset.mdColorMedia")
    seen.click("label.md-header__button[for^=__palette]:not([hidden])")
    wait_for(seen, f"document.body.dataset.mdColorMedia !== {before!r}")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_section_is_reachable(seen: Page, address: str, width: int) -> None:
    visit(seen, address + "index.html", width=width)
    if width == 1280:
        assert seen.evaluate(REACHABLE % ".md-tabs__link[href*=reference]")
    else:
        seen.click("label.md-header__button[for=__drawer]")
        reference = ".md-nav--primary label.md-nav__link[for]"
        wait_for(seen, REACHABLE % reference)
    shown = seen.evaluate(
        "[...document.querySelectorAll('.md-nav--primary a.md-nav__link')].map(a => a.href)"
    )
    assert len({url for url in shown if url.startswith(address)}) >= 45


@pytest.mark.parametrize("width", WIDTHS)
def test_search_is_reachable_and_finds(seen: Page, address: str, width: int) -> None:
    visit(seen, address + "warm.html", width=width)
    if width < 960:
        seen.click("label.md-header__button[for=__search]")
    else:
        seen.click(".md-search__input")
    type_keys(seen, "LangChain")
    wait_for(seen, REACHABLE % ".md-search-result__link[href*='langchain.html']")


@pytest.mark.parametrize("question", QUESTIONS)
def test_search_answers_what_people_ask(seen: Page, address: str, question: str) -> None:
    visit(seen, address + "index.html")
    seen.click(".md-search__input")
    type_keys(seen, question)
    first = "[...document.querySelectorAll('.md-search-result__item')].slice(0, 3)"
    wait_for(seen, f"{first}.some(item => item.innerHTML.includes({QUESTIONS[question]!r}))")


def test_it_can_be_read_and_searched_without_a_server(seen: Page) -> None:
    visit(seen, (SITE / "index.html").as_uri())
    seen.click(".md-search__input")
    type_keys(seen, "NATS")
    wait_for(seen, "document.querySelector(\".md-search-result a[href*='distributed.html']\")")
    seen.press("Enter")
    wait_for(seen, "location.protocol === 'file:' && !location.pathname.endsWith('index.html')")


@pytest.mark.parametrize("old", ["own-loop.html", "tutorials/own-loop.html"])
def test_a_page_that_moved_leads_on(old: str) -> None:
    page = SITE / old
    target = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.read_text())
    assert target is not None
    assert (page.parent / target[1]).resolve() == SITE / "agents.html"


def test_a_block_is_named_for_its_file_and_what_it_prints(seen: Page, address: str) -> None:
    visit(seen, address + "index.html")
    titles = "[...document.querySelectorAll('.highlight .filename')].map(t => t.innerText)"
    # The page that the test before has left may still be on its way.
    wait_for(seen, f"{titles}.includes('agent.py')")
    assert seen.evaluate(titles) == ["hooks/no-sudo.sh", ".hookline/settings.json", "agent.py"]
    visit(seen, address + "langchain.html")
    assert "prints" in seen.evaluate(titles)


def test_the_picture_of_a_turn_is_there_and_has_words() -> None:
    picture = re.search(r'<img [^>]*class="turn"[^>]*>', (SITE / "index.html").read_text())
    assert picture is not None
    source = re.search(r'src="([^"]+)"', picture[0])
    assert source is not None
    assert (SITE / source[1]).is_file()
    assert "BeforeTool" in picture[0]
