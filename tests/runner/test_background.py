"""Async hooks and their late texts: what runs, what waits, and how much of it."""

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from hookline.runner.background import (
    MOST_AT_ONCE,
    Background,
    LateTexts,
    describe_ignored,
)
from hookline.runner.command import CommandRunner
from hookline.runner.context import InputDocument
from hookline.wire.events import HookEventName
from hookline.wire.results import HookExecutionResult
from tests.runner.contained import appears
from tests.runner.planned import TOOL, rules, script


def adding(text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"additionalContext": text}}


def context_of(texts: LateTexts, session: str = "s") -> list[str]:
    said = texts.take(session)
    return [] if said is None else said["hookSpecificOutput"]["additionalContext"].split("\n")


def test_the_oldest_of_too_many_texts_gives_way_and_people_are_told() -> None:
    told: list[str] = []
    texts = LateTexts(told.append)
    for number in range(22):
        texts.add("s", adding(str(number)))
    assert context_of(texts) == [str(number) for number in range(2, 22)]
    assert len(told) == 2
    assert "session s" in told[0]
    assert not texts


def test_the_session_that_was_quiet_longest_is_forgotten_first() -> None:
    told: list[str] = []
    texts = LateTexts(told.append)
    for number in range(1_000):
        texts.add(str(number), adding("x"))
    texts.add("0", adding("y"))
    assert told == []
    texts.add("new", adding("x"))
    assert len(told) == 1
    assert "those of session 1 were dropped" in told[0]
    assert (context_of(texts, "0"), context_of(texts, "1")) == (["x", "y"], [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_of_the_program_can_add_texts_while_another_thread_does() -> None:
    texts, is_over = LateTexts(lambda _text: None), threading.Event()

    def add() -> None:
        while not is_over.is_set():
            texts.add("s", adding("x"))

    adder = threading.Thread(target=add)
    adder.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            texts.add("s", adding("x"))
            os._exit(not texts)
        assert os.waitpid(child, 0)[1] == 0
    is_over.set()
    adder.join()


def test_long_texts_are_kept_for_fewer_sessions() -> None:
    told: list[str] = []
    texts = LateTexts(told.append)
    for number in range(300):
        texts.add(str(number), adding("x" * 70_000))
    kept = [number for number in range(300) if texts.take(str(number))]
    assert kept == list(range(300 - len(kept), 300))
    assert len(kept) == 255
    assert len(told) == 45


def test_a_long_text_is_cut() -> None:
    texts = LateTexts(lambda _text: None)
    texts.add("s", adding("é" * 70_000))
    (text,) = context_of(texts)
    assert text == "é" * 65_536 + "… (+4464 characters)"


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"systemMessage": ""},
        {"hookSpecificOutput": None},
        {"hookSpecificOutput": {"additionalContext": 5, "userMessage": ["x"]}},
        {"hookSpecificOutput": {"additionalContext": " \n"}},
    ],
)
def test_an_answer_without_a_text_leaves_nothing(output: dict[str, Any]) -> None:
    texts = LateTexts(lambda _text: None)
    texts.add("s", output)
    assert not texts


def test_texts_become_one_answer() -> None:
    texts = LateTexts(lambda _text: None)
    texts.add("s", adding("a"))
    texts.add("s", {"systemMessage": "m", "hookSpecificOutput": {"userMessage": "n"}})
    texts.add("s", {**adding("b"), "systemMessage": "o"})
    assert texts.take("s") == {
        "hookSpecificOutput": {
            "hookEventName": "BeforeAgent",
            "additionalContext": "a\nb",
            "userMessage": "m\nn\no",
        }
    }


@pytest.mark.parametrize(
    ("output", "ignored"),
    [
        ({"decision": "allow", "continue": True, "systemMessage": "x"}, None),
        ({"hookSpecificOutput": {"hookEventName": "X", "additionalContext": "x"}}, None),
        ({"decision": "deny", "reason": "no"}, "its decision 'deny' (no) was ignored"),
        ({"continue": False, "stopReason": "no"}, "its continue (no) was ignored"),
        ({"hookSpecificOutput": {"tool_input": {}}}, "its tool_input was ignored"),
    ],
)
def test_what_would_have_had_an_effect_is_named(
    output: dict[str, Any], ignored: str | None
) -> None:
    said = describe_ignored(output)
    assert said is None if ignored is None else str(said).startswith(ignored)


def test_as_many_texts_as_may_wait_are_kept_whole_without_a_warning() -> None:
    told: list[str] = []
    texts = LateTexts(told.append)
    for number in range(19):
        texts.add("s", adding(str(number)))
    texts.add("s", adding("x" * 65_536))
    assert context_of(texts) == [*map(str, range(19)), "x" * 65_536]
    assert told == []


def test_one_character_more_than_a_text_may_have_is_cut() -> None:
    texts = LateTexts(lambda _text: None)
    texts.add("s", adding("x" * 65_537))
    assert context_of(texts) == ["x" * 65_536 + "… (+1 characters)"]


def test_texts_of_exactly_as_many_characters_as_may_wait_are_kept() -> None:
    told: list[str] = []
    texts = LateTexts(told.append)
    for number in range(256):
        texts.add(str(number), {"systemMessage": "x" * 65_536})
    assert told == []
    texts.add("more", {"systemMessage": "x"})
    assert len(told) == 1
    assert texts.take("0") is None
    assert texts.take("1") is not None


def test_the_end_of_a_hook_may_close_all_hooks_without_waiting_for_itself() -> None:
    commands = CommandRunner(warn=lambda _said: None)
    background = Background(commands.run, lambda *_result: background.close())
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    assert background.start(script("true"), document, rules()).started
    assert background.wait(4)
    assert background.start(script("true"), document, rules()).failed == "spawn"
    commands.dispose()


def test_hooks_that_ended_make_room_for_as_many_more() -> None:
    ended: list[HookExecutionResult] = []
    commands = CommandRunner(warn=lambda _said: None)
    background = Background(commands.run, lambda result, *_run: ended.append(result))
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    for _ in range(2):
        Path("go").unlink(missing_ok=True)
        waits = script("until [ -e go ]; do sleep 0.01; done")
        started = [background.start(waits, document, rules()) for _ in range(MOST_AT_ONCE + 1)]
        assert [result.started for result in started] == [True] * MOST_AT_ONCE + [False]
        assert not background.wait(0)
        Path("go").touch()
        assert background.wait(20)
    assert [result.success for result in ended] == [True] * 2 * MOST_AT_ONCE
    background.close()
    commands.dispose()


def test_a_hook_starts_while_another_runs() -> None:
    commands = CommandRunner(warn=lambda _said: None)
    background = Background(commands.run, lambda *_result: None)
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    waits = script("echo on > begun; until [ -e go ]; do sleep 0.01; done")
    background.start(waits, document, rules())
    asyncio.run(appears("begun"))
    background.start(script("touch go"), document, rules())
    assert background.wait(20)
    background.close()
    commands.dispose()


def test_what_a_callback_raises_is_told_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    commands = CommandRunner(warn=lambda _said: None)
    background = Background(commands.run, lambda *_result: 1 / 0)  # type: ignore[arg-type]
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    for _ in range(2):
        background.start(script("true", name="mine"), document, rules())
        assert background.wait(20)
    assert caplog.text.count("cannot report the end of hook 'mine'") == 2
    background.close()
    commands.dispose()
