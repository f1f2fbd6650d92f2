"""The page of ``hookline trace --html`` in a real browser, used by mouse and by keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.trace.html import page as page_of
from tests.browser.chromium import Page, opened
from tests.trace.logs import DENIED, fired, ran, session
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
        "14:03:18 ask BeforeAgent  budget ?, rules",
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


def test_events_are_filtered_by_decision_by_session_and_by_time(seen: Page) -> None:
    seen.click("#decisions button")
    assert [row.split()[1] for row in seen.evaluate(ROWS)] == ["no", "blocked", "ask"]
    seen.click("#decisions button")
    seen.evaluate(
        "(s => { s.value = 's-2'; s.dispatchEvent(new Event('change')); })"
        "(document.getElementById('session'))"
    )
    assert seen.text("#count") == "1 of 5"
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


def test_what_hooks_wrote_stays_text(looking: Page, tmp_path: Path) -> None:
    run = ran(EVIL, stdout=EVIL, stderr=EVIL, output={EVIL: EVIL})
    looking.open(save(tmp_path / "evil.html", fired(EVIL, "10:00:00", "BeforeAgent", run)))
    looking.click("#row-0")
    assert looking.text("#event").count("onerror=alert(1)") >= 4
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


def test_a_narrow_window_shows_all_of_it_too(looking: Page, tmp_path: Path) -> None:
    size = {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    looking.send("Emulation.setDeviceMetricsOverride", **size)
    looking.open(save(tmp_path / "trace.html", *session()))
    looking.click("#row-1")
    assert "BeforeModel" in looking.text("#event")
    sideways = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert looking.evaluate(sideways) is False
    looking.send("Emulation.clearDeviceMetricsOverride")
