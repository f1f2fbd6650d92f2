"""Prompt hooks in a system: who answers them, and what is told where nobody does."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, DebugLogger, Hooks
from tests.eleven import Json

NO = '{"ok": false, "reason": "not today"}'


def asking(**fields: Any) -> Json:
    hook = {"type": "prompt", "name": "ask", "prompt": "Is $ARGUMENTS fine?", **fields}
    return {"BeforeTool": [{"hooks": [hook]}]}


async def give_no(_question: str) -> str:
    return NO


@pytest.mark.parametrize("judge", [give_no, lambda _question: NO], ids=["async", "plain"])
async def test_a_judge_denies_a_tool_call(judge: Any) -> None:
    hooks = Hooks(hooks=asking(), judge=judge)
    answer = await hooks.before_tool("write", {})
    assert (answer.denied, answer.reason) == (True, "not today")


@pytest.mark.parametrize("judge", [give_no, lambda _question: NO], ids=["async", "plain"])
def test_it_does_for_callers_who_do_not_await(judge: Any) -> None:
    answer = Hooks(hooks=asking(), judge=judge).sync.before_tool("write", {})
    assert (answer.denied, answer.reason) == (True, "not today")


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_judge_whose_own_calls_fire_events_is_not_asked_about_them(is_async: bool) -> None:
    asked: list[str] = []
    nested: list[str] = []

    async def ask_in_turn(question: str) -> str:
        asked.append(question)
        answer = await hooks.before_tool("write", {})
        nested.append(str(answer.failures[0].message))
        return NO

    def ask_at_once(question: str) -> str:
        asked.append(question)
        nested.append(str(hooks.sync.before_tool("write", {}).failures[0].message))
        return NO

    hooks = Hooks(hooks=asking(), judge=ask_in_turn if is_async else ask_at_once)
    for _ in range(2):
        assert (await hooks.before_tool("write", {})).denied
    assert len(asked) == 2
    assert all("fired this event itself" in message for message in nested)


@pytest.mark.parametrize("reply", ["no", '{"ok": "false"}', '{"ok": true} {"ok": true}'])
def test_an_answer_that_is_none_goes_on_unless_the_hook_fails_closed(
    reply: str, caplog: pytest.LogCaptureFixture
) -> None:
    lenient = Hooks(hooks=asking(), judge=lambda _question: reply).sync.before_tool("write", {})
    assert (lenient.decision, lenient.failures[0].code) == ("allow", "hook_malformed")
    assert "hook 'ask' on BeforeTool failed: the model's answer" in caplog.text
    closed = Hooks(hooks=asking(onFailure="block"), judge=lambda _question: reply)
    assert closed.sync.before_tool("write", {}).denied


def test_without_a_judge_the_settings_and_the_event_say_that_it_is_not_run() -> None:
    told: list[str] = []
    config = Config(hooks=asking(), debug_logger=DebugLogger(warn=told.append))
    (problem,) = config.get_settings().problems
    assert (problem.kind, problem.skipped, problem.broken) == ("no-judge", False, False)
    assert "prompt hook 'ask' asks a model" in problem.text
    assert problem.consequence == "it is not run"
    answer = Hooks.of(config).sync.before_tool("write", {})
    assert (answer.decision, answer.success) == ("allow", True)
    assert len(told) == 2
    assert told[0].endswith(str(problem))


def test_without_a_judge_an_event_is_blocked_where_the_hook_must_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer = Hooks(hooks=asking(onFailure="block")).sync.before_tool("write", {})
    assert answer.denied
    assert "the program has no judge" in str(answer.reason)
    assert "it fails, and blocks" in caplog.text


def test_a_judge_that_is_offered_later_answers_unless_there_is_one() -> None:
    config = Config(hooks=asking())
    assert config.get_settings().problems
    config.project.offer_judge(lambda _question: NO)
    config.project.offer_judge(lambda _question: '{"ok": true}')
    assert config.get_settings().problems == ()
    assert Hooks.of(config).sync.before_tool("write", {}).denied


@pytest.mark.parametrize("enabled", [True, False])
def test_a_hook_that_is_switched_off_is_no_problem(enabled: bool) -> None:
    config = Config(hooks=asking(), disabled=[] if enabled else ["ask"])
    assert bool(config.get_settings().problems) is enabled


def test_a_command_line_without_a_judge_loads_no_asyncio(tmp_path: Path) -> None:
    settings = tmp_path / "rules.json"
    settings.write_text(json.dumps({"hooks": asking()}))
    fire = ["fire", "BeforeTool", "--tool", "t", "--tool-input", "{}", "--settings", str(settings)]
    program = (
        "import sys; from hookline.cli import main; status = main(sys.argv[1:]);"
        "sys.exit(9 if 'asyncio' in sys.modules else status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *fire], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    assert "asks a model" in done.stderr
