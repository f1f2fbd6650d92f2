"""The page holds everything, loads nothing, and nothing in it can become markup."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.trace.events import DECISIONS
from hookline.trace.html import page
from tests.trace.logs import effects, fired, ran, session
from tests.trace.test_events import assembled

HOSTILE = "</script><script>alert(1)</script><!-- %DATA% %SCRIPT% &amp; \u2028 \ud800"


class Parts(HTMLParser):
    """What a browser would find: each script and style, and every address."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[tuple[str, str]] = []
        self.policy = ""
        self.addresses: list[str | None] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(given["content"])
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("script", "style") and data.strip():
            self.texts.append((self.tags[-1], data))


def parts_of(*output: str) -> Parts:
    runs = [ran("h", stdout=text, stderr=text) for text in output]
    events = assembled(*session(), fired("aaaaaa", "10:00:00", "BeforeTool", *runs, target="t"))
    return Parts(page(events, total=9).decode())


def data_of(parts: Parts) -> Any:
    return json.loads(parts.texts[1][1])


def test_all_events_and_latencies_are_in_the_page() -> None:
    data = data_of(parts_of())
    assert [event["id"] for event in data["events"]][:3] == ["start2", "model2", "block2"]
    assert data["events"][2]["hooks"][0]["stderr"] == "that is a key"
    assert {row["hook"] for row in data["hooks"]} >= {"format", "secret-scan"}
    assert data["total"] == 9


def test_the_page_asks_for_nothing_and_runs_its_own_script_alone() -> None:
    parts = parts_of()
    assert parts.addresses == []
    assert parts.policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    (_, style), _, (_, script) = parts.texts
    for text in (style, script):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in parts.policy
    assert not re.search(r"https?:|innerHTML|eval\(|fetch\(|@import|url\(", style + script)


@pytest.mark.parametrize("text", [HOSTILE, "<!--<script>", "]]>", '"}]}'])
def test_what_hooks_wrote_cannot_leave_its_place(text: str) -> None:
    parts = parts_of(text)
    assert [tag for tag, _ in parts.texts] == ["style", "script", "script"]
    assert data_of(parts)["events"][-1]["hooks"][0]["stdout"] == text
    assert parts.tags.count("script") == 2


@settings(max_examples=25)
@given(st.text())
def test_any_text_comes_back_as_it_was(text: str) -> None:
    (shown,) = data_of(parts_of(text))["events"][-1]["hooks"]
    assert shown["stderr"] == text or not text.isprintable()


def test_no_events_make_a_page_too() -> None:
    data = data_of(Parts(page([], total=0).decode()))
    assert (data["events"], data["changes"], data["hooks"], data["total"]) == ([], [], [], 0)


def test_the_page_has_the_words_of_the_screen_and_what_hooks_changed() -> None:
    events = assembled(*effects())
    data = data_of(Parts(page(events, total=len(events)).decode()))
    assert set(data["decisions"]) == set(DECISIONS) >= {event.decision for event in events}
    assert all(word in data["tones"] for word in DECISIONS)
    places = {event.id: place for place, event in enumerate(events)}
    changes = {(each["event"], each.get("hook")): each for each in data["changes"]}
    assert changes[places["redact"], 0] == {
        "event": places["redact"],
        "hook": 0,
        "what": "tool result",
        "before": "one\nAKIA1\nthree",
        "after": "one\n[key]\nthree",
    }
    assert changes[places["narrow"], 0]["after"] == ["read_file"]
    assert (places["adding"], 0) not in changes


def test_characters_that_turn_a_text_or_hide_in_it_are_seen_as_escapes() -> None:
    (shown,) = data_of(parts_of("a\u202eb\u2069c\u200bd"))["events"][-1]["hooks"]
    assert shown["stdout"] == "a\\u202eb\\u2069c\\u200bd"


def test_the_change_of_all_hooks_is_told_apart_only_if_there_are_several() -> None:
    new = {"hookSpecificOutput": {"tool_input": {"command": "ls"}}}
    own: dict[str, Any] = {"tool_name": "t", "tool_input": {"command": "rm"}, "output": new}
    rewriting = ran("h", output=new)
    one = assembled(fired("single", "10:00:00", "BeforeTool", rewriting, **own))
    two = assembled(fired("double", "10:00:00", "BeforeTool", ran("quiet"), rewriting, **own))
    hooks = [
        [each.get("hook") for each in data_of(Parts(page(events, total=1).decode()))["changes"]]
        for events in (one, two)
    ]
    assert hooks == [[0], [1, None]]
