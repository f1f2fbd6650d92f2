"""What a recorded test expects, where it is written, and what it may not replace."""

import os
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.hooktests.cases import HookTestError
from hookline.hooktests.recorder import (
    FiredBefore,
    ends_of,
    make_recorded_test,
    read_traced_event,
    recording_place,
    write_test,
)
from hookline.settings.jsonc import MAX_BYTES
from tests.trace.logs import Json, fired, ran, written


@pytest.mark.parametrize(
    ("given", "name", "file"),
    [
        ("A key: refused!", "A key: refused!", "/p/.hookline/tests/a-key-refused.hooktest.json"),
        ("x" * 101, "x" * 101, f"/p/.hookline/tests/{'x' * 100}.hooktest.json"),
        ("/t/keys", "keys", "/t/keys.hooktest.json"),
        ("/t/keys.hooktest.json", "keys", "/t/keys.hooktest.json"),
    ],
)
def test_a_name_becomes_a_file_of_the_project_and_a_path_stays_one(
    given: str, name: str, file: str
) -> None:
    assert recording_place(given, "/p") == (name, file)


def test_a_name_with_the_ending_of_a_test_is_a_file_of_this_folder() -> None:
    file = os.path.abspath("keys.hooktest.json")
    assert recording_place("keys.hooktest.json", "/p") == ("keys", file)


def test_a_name_without_a_letter_or_a_digit_is_refused() -> None:
    with pytest.raises(HookTestError, match="use letters or digits"):
        recording_place("!?", "/p")


def test_a_file_that_is_there_is_replaced_only_if_asked_even_a_dangling_link(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tests" / "a.hooktest.json"
    write_test(str(file), {"name": "a"}, replace=False)
    with pytest.raises(HookTestError, match="pass --force to replace it"):
        write_test(str(file), {"name": "b"}, replace=False)
    assert file.read_text() == '{\n  "name": "a"\n}\n'
    write_test(str(file), {"name": "b"}, replace=True)
    assert '"b"' in file.read_text()
    link = tmp_path / "link.hooktest.json"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(HookTestError, match="exists"):
        write_test(str(link), {}, replace=False)


def test_a_test_of_the_largest_size_that_is_read_is_written_and_no_larger_one(
    tmp_path: Path,
) -> None:
    file = str(tmp_path / "a.hooktest.json")
    frame = len('{\n  "name": ""\n}\n')
    write_test(file, {"name": "x" * (MAX_BYTES - frame)}, replace=False)
    assert os.path.getsize(file) == MAX_BYTES
    with pytest.raises(HookTestError, match="record a smaller event"):
        write_test(file, {"name": "x" * (MAX_BYTES - frame + 1)}, replace=True)
    assert os.path.getsize(file) == MAX_BYTES


@pytest.mark.parametrize(
    ("said", "changed"),
    [({}, None), ({"llm_response": {"text": "[removed]"}}, {"text": "[removed]"})],
    ids=["nothing", "another text"],
)
def test_a_test_expects_of_a_models_answer_what_hooks_changed(said: Any, changed: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel", name="redact")(lambda _: {"hookSpecificOutput": said})
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    answer = hooks.sync.after_model(request, {"text": "Hello."})
    test = make_recorded_test("t", "AfterModel", {}, answer, {"redact": {"decision": "none"}}, {})
    assert test["expect"].get("llm_response") == changed


def record(event: str, said: Any, **payload: Any) -> dict[str, Any]:
    """The test of what one hook says to an event."""
    with Hooks() as hooks:
        hooks.on(event, name="h")(lambda _: said)
        answer = getattr(hooks.sync, payload.pop("method"))(**payload)
    return make_recorded_test("in /p", event, payload, answer, ends_of(answer), {"project": "/p"})


@pytest.mark.parametrize(
    ("said", "expect"),
    [
        ({"decision": "allow", "reason": "fine"}, {}),
        ({"decision": "ask", "reason": "in /p?"}, {"decision": "ask", "reason": "in ${project}?"}),
        (
            {"hookSpecificOutput": {"tool_input": {"a": "/p/b"}}},
            {"tool_input": {"a": "${project}/b"}},
        ),
        (
            {"hookSpecificOutput": {"removeToolInput": ["a"]}},
            {"output": {"hookSpecificOutput": {"removeToolInput": ["a"]}}},
        ),
    ],
)
def test_only_what_hooks_said_is_expected_with_places_named(said: Any, expect: Any) -> None:
    test = record("BeforeTool", said, method="before_tool", tool_name="x", tool_input={"a": "/p"})
    assert test == {
        "name": "in /p",
        "event": "BeforeTool",
        "tool": "x",
        "tool_input": {"a": "${project}"},
        "hooks": ["h"],
        "expect": {"decision": "allow", **expect},
    }


def test_what_has_no_short_name_stays_in_the_input_and_claude_is_named_if_it_counts() -> None:
    said = {"hookSpecificOutput": {"exports": {"A": "1"}}}
    test = record("SessionStart", said, method="session_start", source="startup")
    assert test["input"] == {"source": "startup"}
    assert test["expect"] == {"decision": "allow", "exports": {"A": "1"}}
    answer = Hooks().sync.before_agent("Hi")
    alone = make_recorded_test("t", "BeforeAgent", {}, answer, {}, {}, claude=True)
    assert alone == {
        "name": "t",
        "event": "BeforeAgent",
        "claude": True,
        "expect": {"no_hooks": True},
    }


def traced(path: Path, *events: list[Json]) -> FiredBefore:
    return read_traced_event("one", trace_file=written(path, *events))


def test_an_event_of_the_trace_has_its_folder_and_how_each_hook_ended(tmp_path: Path) -> None:
    hooks = (ran("good"), ran("bad", exit_code=3, failed="exit"))
    own: Json = {"prompt": "Hi", "timestamp": "now", "transcript_path": "/t"}
    found = traced(tmp_path / "log", fired("one", "10:00:00", "BeforeAgent", *hooks, **own))
    assert (found.payload, found.cwd) == ({"prompt": "Hi"}, "/home/ada/project")
    assert found.ends == {"good": {"exit_code": 0}, "bad": {"failed": "exit", "exit_code": 3}}


@pytest.mark.parametrize(
    "clipped",
    ["x… (+1 characters)", {"a": ["x", "… (+2 items)"]}, {"deep": [{"…": 1}]}],
)
def test_an_event_of_which_parts_are_missing_is_refused(tmp_path: Path, clipped: Any) -> None:
    agent = ("one", "10:00:00", "BeforeAgent", ran("h"))
    said = {"systemMessage": clipped}
    for event in (fired(*agent, prompt="", x=clipped), fired(*agent, prompt="", output=said)):
        with pytest.raises(HookTestError, match="one has values too long for the trace"):
            traced(tmp_path / "log", event)
    whole = fired(*agent, prompt="x… (+1 characters) more", x=[{"a": ["…"]}])
    assert traced(tmp_path / "log", whole).payload["x"] == [{"a": ["…"]}]
