"""The page of ``hookline trace --html`` in a real browser, used by mouse and by keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.trace.html import page as page_of
from tests.browser.chromium import Page, opened
from tests.trace.logs import DENIED, effects, fired, ran, session
from tests.trace.test_events import assembled

pytestmark = pytest.mark.timeout(120)

EVIL = "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>"
ROWS = "[...document.querySelectorAll('.row')].map(row => row.getAttribute('aria-label'))"
CHOSEN = "document.querySelector('.row[aria-selected=true]')?.getAttribute('aria-label')"


def save(path: Path, *events: list[dict[str, object]]) -> Path:
    shown = sorted(assembled(*events), key=lambda event: event.time)
    path.write_bytes(page_of(shown, total=len(shown)))
    return path


@pytest.fixture(scope="module")
def looking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    scratch = tmp_path_factory.mktemp("browser")
    with opened(scratch) as page:
        page.send("Emulation.setTimezoneOverride", timezoneId="UTC")
        yield page


@pytest.fixture
def seen(looking: Page, tmp_path: Path) -> Iterator[Page]:
    looking.requests.clear()
    looking.open(save(tmp_path / "trace.html", *session()))
    yield looking
    assert looking.errors == []
    assert [url for url in looking.requests if not url.startswith("file:")] == []
    assert len(looking.requests) == 1


def test_it_shows_events_their_decisions_and_the_latency_of_hooks(seen: Page) -> None:
    assert seen.evaluate(ROWS) == [
        "14:02:59 allowed SessionStart startup notes",
        "14:03:05 no hook BeforeModel  ",
        "14:03:08 blocked BeforeTool write_file secret-scan ✕, path-guard",
        "14:03:10 allowed AfterTool write_file format !",
        "14:03:18 allowed BeforeAgent  budget, rules",
    ]
    assert "5 events · 2026-03-01 14:02:59 – 14:03:20" in seen.text("#summary")
    table = seen.text("#hooks").split()
    assert table[:3] == ["hook", "runs", "p50"]
    assert table.index("rules") < table.index("format") < table.index("notes")


def test_a_click_shows_input_and_output_and_escape_goes_back(seen: Page) -> None:
    seen.click("#row-2")
    shown = seen.text("#event")
    for part in ("blocked", "that is a key", "secret-scan", "exit 2", '"content": "AKIA"'):
        assert part in shown
    assert seen.evaluate("document.getElementById('hooks').hidden") is True
    seen.press("Escape")
    assert seen.evaluate("document.getElementById('hooks').hidden") is False
    assert seen.evaluate(CHOSEN) is None


def test_the_keyboard_reaches_everything(seen: Page) -> None:
    seen.press("/")
    seen.type("scan")
    assert len(seen.evaluate(ROWS)) == 1
    seen.press("Escape")
    assert len(seen.evaluate(ROWS)) == 5
    seen.press("Home")
    assert "SessionStart" in seen.evaluate(CHOSEN)
    seen.press("ArrowDown")
    seen.press("ArrowDown")
    assert "blocked" in seen.evaluate(CHOSEN)
    active = "document.getElementById('list').getAttribute('aria-activedescendant')"
    assert seen.evaluate(active) == "row-2"
    seen.press("Enter")
    assert seen.evaluate("document.activeElement.id") == "event"


def test_events_are_filtered_by_what_hooks_did_by_kind_by_session_and_by_time(seen: Page) -> None:
    words = "[...document.querySelectorAll('#decisions button')].map(each => each.innerText)"
    assert [each.split("\n")[0] for each in seen.evaluate(words)] == [
        *("blocked", "allowed", "no hook", "with failures"),
    ]
    seen.click("#decisions button")
    assert [row.split()[1] for row in seen.evaluate(ROWS)] == ["blocked"]
    seen.click("#decisions button:nth-child(3)")
    assert [row.split()[1] for row in seen.evaluate(ROWS)] == ["no", "blocked"]
    seen.click("#decisions button:nth-child(3)")
    seen.click("#decisions button")
    seen.click("#decisions button:nth-child(4)")
    assert [row.split()[2] for row in seen.evaluate(ROWS)] == ["AfterTool"]
    seen.click("#decisions button:nth-child(4)")
    for name, value in (("session", "s-2"), ("kind", "BeforeTool"), ("hook", "path-guard")):
        choose(seen, name, value)
        assert seen.text("#count") == "1 of 5"
        choose(seen, name, "")
    seen.press("/")
    seen.type("no such thing")
    assert "No event matches" in seen.text("#nothing")
    seen.click("#clear")
    box = "(b => [b.x, b.y, b.width])(document.getElementById('timeline').getBoundingClientRect())"
    left, top, width = seen.evaluate(box)
    seen.drag((left + 155, top + 10), (left + width / 2, top + 10))
    assert 0 < len(seen.evaluate(ROWS)) < 5
    seen.click("#unzoom")
    assert len(seen.evaluate(ROWS)) == 5


def choose(page: Page, name: str, value: str) -> None:
    """What a person does with one of the lists."""
    page.evaluate(
        f"(s => {{ s.value = {value!r}; s.dispatchEvent(new Event('change')); }})"
        f"(document.getElementById({name!r}))"
    )


def test_a_search_finds_what_hooks_read_and_answered_and_marks_it(seen: Page) -> None:
    for text in ("AKIA", "that IS a key"):
        seen.press("/")
        seen.evaluate("search('')")
        seen.type(text)
        assert [row.split()[1] for row in seen.evaluate(ROWS)] == ["blocked"]
    seen.click("#row-0")
    found = "[...document.querySelectorAll('#event .found')].map(each => each.textContent)"
    assert {"that", "key"} <= set(seen.evaluate(found))


CHANGES = {
    "rewrit": ("tool input", ['  "command": "git push --force",', "second\\n"], ["2nd\\n"]),
    "redact": ("tool result", ["AKIA1"], ["[key]"]),
    "reqchg": ("model request", ['      "content": "my key is AKIA1"'], ["[key]"]),
    "respon": ("model response", ['  "text": "key AKIA1"'], ["[key]"]),
    "narrow": ("tools", ["write_file", "run_shell_command"], []),
}


@pytest.mark.parametrize("width", [360, 1600])
def test_what_a_hook_changed_stands_beside_what_it_read_and_is_marked(
    looking: Page, tmp_path: Path, width: int
) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    looking.send("Emulation.setDeviceMetricsOverride", **size)
    looking.open(save(tmp_path / "trace.html", *effects()))
    for id, (what, gone, come) in CHANGES.items():
        looking.evaluate(f"choose(events.find(event => event.id === {id!r}))")
        assert looking.text(".diff h3").startswith(f"{what} before")
        lines = "[...document.querySelectorAll('.diff %s')].map(line => line.textContent)"
        assert set(gone) <= set(looking.evaluate(lines % "del"))
        shown = "\n".join(looking.evaluate(lines % "ins"))
        assert all(text in shown for text in come)
    assert (
        looking.evaluate("getComputedStyle(document.querySelector('.diff del')).textDecorationLine")
        == "line-through"
    )
    # Beside each other where there is room, below each other where there is none.
    looking.evaluate("choose(events.find(event => event.id === 'rewrit'))")
    places = (
        "['del', 'ins'].map(tag => document.querySelector('.diff ' + tag).getBoundingClientRect())"
        ".map(box => [box.x, box.y])"
    )
    (left, upper), (right, lower) = looking.evaluate(places)
    assert (left < right and upper == lower) if width > 900 else (left == right and upper < lower)
    looking.send("Emulation.clearDeviceMetricsOverride")
    assert looking.errors == []


def test_huge_values_do_not_hang_the_page(looking: Page, tmp_path: Path) -> None:
    before, after = ({"text": "\n".join(f"{side} {n}" for n in range(9_000))} for side in "ab")
    same = {"text": "\n".join("x" for _ in range(4_000))}
    output = {"hookSpecificOutput": {"tool_input": {**after, "same": same}}}
    given = {**before, "same": {"text": same["text"] + "\nx"}}
    event = fired("huge22", "10:00:00", "BeforeTool", ran("h", output=output), tool_input=given)
    looking.open(save(tmp_path / "huge.html", event))
    started = looking.evaluate("performance.now()")
    looking.click("#row-0")
    assert looking.evaluate("document.querySelectorAll('.diff .pair').length") < 500
    assert "More differs than is shown here." in looking.text("#event")
    assert looking.evaluate("performance.now()") - started < 5_000


def test_what_hooks_wrote_stays_text(looking: Page, tmp_path: Path) -> None:
    changed = {EVIL: EVIL, "hookSpecificOutput": {"tool_input": {EVIL: f"{EVIL}{EVIL}"}}}
    run = ran(EVIL, stdout=EVIL, stderr=EVIL, output=changed)
    event = fired(
        EVIL, "10:00:00", "BeforeTool", run, target=EVIL, output=changed, tool_input={EVIL: EVIL}
    )
    looking.open(save(tmp_path / "evil.html", event))
    looking.click("#row-0")
    looking.evaluate("search('onerror')")
    assert looking.text("#event").count("onerror=alert(1)") >= 4
    assert looking.evaluate("document.querySelectorAll('.diff del').length") > 0
    assert looking.evaluate("document.title") == "hookline trace"
    assert looking.evaluate("document.querySelectorAll('img').length") == 0
    assert looking.errors == []


def test_thousands_of_events_stay_usable(looking: Page, tmp_path: Path) -> None:
    events = [
        fired(f"id{n:04}", f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}", "BeforeTool", DENIED)
        for n in range(5_000)
    ]
    looking.open(save(tmp_path / "many.html", *events))
    assert looking.text("#count") == "5000 events"
    assert len(looking.evaluate(ROWS)) < 60
    looking.click("#list")
    looking.press("End")
    assert looking.evaluate(CHOSEN).startswith("01:23:18")
    looking.press("/")
    looking.type("id0042")
    assert looking.text("#count") == "1 of 5000"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_preferred_colours_and_can_be_switched(
    looking: Page, tmp_path: Path, scheme: str
) -> None:
    looking.prefer(scheme)
    looking.open(save(tmp_path / "trace.html", *session()))
    theme = "document.documentElement.dataset.theme"
    assert looking.evaluate(theme) == scheme
    looking.click("#theme")
    assert looking.evaluate(theme) != scheme


@pytest.mark.parametrize("width", [360, 700, 1000, 1600])
def test_any_width_shows_all_of_it(looking: Page, tmp_path: Path, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    looking.send("Emulation.setDeviceMetricsOverride", **size)
    long = fired("long22", "15:30:00", "BeforeTool", ran("h" * 80), target="mcp__" + "t" * 200)
    looking.open(save(tmp_path / "trace.html", *session(), *effects(), long))
    sideways = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert looking.evaluate(sideways) is False
    looking.press("/")
    looking.type("block2")
    looking.click("#row-0")
    assert "that is a key" in looking.text("#event")
    assert looking.evaluate(sideways) is False
    # Every word for what hooks did is there to be read, not only its sign.
    looking.evaluate("search('')")
    words = "[...document.querySelectorAll('.row .decision')]"
    assert looking.evaluate(f"{words}.filter(e => e.scrollWidth > e.clientWidth).length") == 0
    looking.send("Emulation.clearDeviceMetricsOverride")
