"""What was asked before is not asked again, unless a tool had a part in the answer."""

import os
from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from hookline.wire.events import SessionStartSource
from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "response-cache")


def session(work: Workplace) -> Workplace:
    """Another session in the same project."""
    return Workplace(work.path, "response-cache")


def answers(work: Workplace) -> list[Path]:
    return sorted((work.path / ".hookline" / "state" / "responses").glob("answer-*.json"))


async def test_a_question_that_was_asked_before_is_answered_without_the_model(
    work: Workplace,
) -> None:
    async with work.agent(("Red or ", "blue."), "Cherries.") as agent:
        await agent.run("A colour?")
        await agent.run("An example?")
    again = session(work)
    async with again.agent("Not asked.") as agent:
        await agent.run("A colour?")
        result = await agent.run("An example?")
    assert again.provider.requests == []
    assert again.shown_text == "Red or blue.Cherries."
    assert result.text == "Cherries."


async def test_with_another_setting_or_another_conversation_before_it_the_model_is_asked(
    work: Workplace,
) -> None:
    await work.run("An example?", "Of what?")
    async with work.agent("A hue.", "Cherries.", model_config={"temperature": 1.0}) as agent:
        assert (await agent.run("An example?")).text == "A hue."
        assert (await agent.run("An example?")).text == "Cherries."
    assert len(answers(work)) == 3


async def test_an_answer_that_needed_a_tool_is_not_kept(work: Workplace) -> None:
    work.write("a.txt", "one")
    look = ["Let me look.", call("read_file", file_path="a.txt")]
    async with work.agent(look, "It says one.", "It said so.") as agent:
        await agent.run("What is in a.txt?")
        await agent.run("Are you sure?")
    assert work.results == ["one"]
    assert answers(work) == []


async def test_a_resumed_session_may_hold_what_hooks_do_not_see_and_is_left_alone(
    work: Workplace,
) -> None:
    await work.run("What is a hook?", "One.")
    resumed = session(work)
    result = await resumed.run("What is a hook?", "Two.", source=SessionStartSource.RESUME)
    assert result.text == "Two."
    assert len(answers(work)) == 1


async def test_an_answer_that_was_cut_off_is_not_kept(work: Workplace) -> None:
    content = {"role": "model", "parts": [{"text": "It is a"}]}
    cut_off = {"candidates": [{"content": content, "finishReason": "MAX_TOKENS", "index": 0}]}
    await work.run("What is a hook?", cut_off)
    assert answers(work) == []


async def test_an_answer_that_is_old_or_damaged_is_not_used(work: Workplace) -> None:
    await work.run("What is a hook?", "One.")
    [kept] = answers(work)
    assert kept.stat().st_mode & 0o777 == 0o600
    os.utime(kept, (0, 0))
    assert (await work.run("What is a hook?", "Two.")).text == "Two."
    kept.write_text('{"text": "Tw')
    assert (await work.run("What is a hook?", "Three.")).text == "Three."
