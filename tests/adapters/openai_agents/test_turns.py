"""Turns: BeforeAgent, AfterAgent, what hooks add for the model, and where a session begins."""

from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool

from hookline import Hooks, add_context, deny, stop
from hookline.adapters.openai_agents import hooked
from tests.adapters.openai_agents.playing import PLAYS, call, note, results, script, texts

each_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def make_agent(model: Any, hooks: Hooks) -> Agent[Any]:
    return hooked(Agent(name="clerk", model=model, tools=[shell]), hooks)


@each_play
async def test_context_stands_beside_the_prompt_in_every_call_of_the_turn_and_in_no_session(
    play: Any,
) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda _event: add_context("today is Monday"))
    model = script(call("shell", command="ls"), "Done.", "Again.")
    session = SQLiteSession("s")
    agent = make_agent(model, hooks)
    await play(agent, "Go on.", session=session)
    for number in (0, 1):
        items = model.calls[number].input
        assert [item.get("content") for item in items[:2]] == ["Go on.", "today is Monday"]
    assert "Monday" not in str(await session.get_items())
    await play(agent, "And?", session=session)
    assert texts(model, 2).count("Monday") == 1
    session.close()


@each_play
async def test_a_turn_that_hooks_send_back_goes_on_with_the_reason_until_they_are_content(
    play: Any,
) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(
        lambda event: None if "ls" in event["prompt_response"] else deny("run ls first")
    )
    seen = note(hooks, "AfterAgent", "BeforeAgent")
    model = script("Hello.", call("shell", command="ls"), "I ran ls.")
    played = await play(make_agent(model, hooks), "Go on.")
    assert played.output == "I ran ls."
    assert results(model) == ["ran ls"]
    # The model reads its first answer and the reason in every later call, in their place.
    for number in (1, 2):
        items = model.calls[number].input
        said = [item.get("content") for item in items if "role" in item]
        assert said == ["Go on.", "Hello.", "run ls first"]
    assert [e["hook_event_name"] for e in seen] == ["BeforeAgent", "AfterAgent", "AfterAgent"]
    assert [e.get("stop_hook_active") for e in seen[1:]] == [False, True]
    assert seen[2]["prompt"] == "run ls first"
    # Each of the three calls has its price.
    assert played.result.context_wrapper.usage.total_tokens == 21


async def test_hooks_send_a_turn_back_a_few_times_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _event: deny("again"))
    model = script(*(f"{n}" for n in range(12)))
    assert (await Runner.run(make_agent(model, hooks), "Go on.")).final_output == "8"
    assert "sent the turn back 8 times" in caplog.text


@each_play
async def test_a_refused_prompt_is_not_sent_and_one_at_which_hooks_stop_neither(play: Any) -> None:
    answers = iter([deny("no"), stop("no")])
    for _ in range(2):
        hooks = Hooks()
        hooks.on("BeforeAgent")(lambda _event: next(answers))
        ended = note(hooks, "AfterAgent")
        model = script("Never.")
        played = await play(make_agent(model, hooks), "Secret.")
        assert (played.output, len(model.calls), ended) == ("no", 0, [])


async def test_a_session_starts_anew_or_is_resumed() -> None:
    hooks = Hooks()
    seen = note(hooks, "SessionStart")
    agent = make_agent(script("1", "2", "3"), hooks)
    config = RunConfig(group_id="one")
    first = await Runner.run(agent, "Hi.", run_config=config)
    history: Any = [*first.to_input_list(), {"role": "user", "content": "And?"}]
    await Runner.run(agent, history, run_config=config)
    await Runner.run(agent, history, run_config=RunConfig(group_id="two"))
    assert [(e["session_id"], e["source"]) for e in seen] == [("one", "startup"), ("two", "resume")]


async def test_what_session_start_adds_is_read_with_the_first_request_alone() -> None:
    hooks = Hooks()
    hooks.on("SessionStart")(lambda _event: add_context("you are in Berlin"))
    model, config = script("1", "2"), RunConfig(group_id="one")
    agent = make_agent(model, hooks)
    await Runner.run(agent, "Hi.", run_config=config)
    await Runner.run(agent, "And?", run_config=config)
    assert "Berlin" in texts(model, 0)
    assert "Berlin" not in texts(model, 1)


async def test_a_prompt_of_several_parts_is_shown_as_its_texts() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeAgent")
    parts = [{"type": "input_text", "text": "Look:"}, {"type": "input_image", "image_url": "x"}]
    given: Any = [{"role": "user", "content": parts}]
    await Runner.run(make_agent(script("Nice."), hooks), given)
    assert seen[0]["prompt"] == "Look:"


@pytest.mark.parametrize("role", ["developer", "system"])
async def test_a_prompt_is_judged_though_a_message_of_the_program_stands_behind_it(
    role: str,
) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda event: deny(f"not {event['prompt']}"))
    given: Any = [{"role": "user", "content": "this"}, {"role": role, "content": "Be brief."}]
    assert (await Runner.run(make_agent(script("Hi."), hooks), given)).final_output == "not this"


async def test_what_hooks_add_is_the_users_and_what_they_send_back_follows_the_answer() -> None:
    hooks = Hooks()
    said = iter([deny("once more"), None])
    hooks.on("AfterAgent")(lambda _event: next(said))
    hooks.on("SessionStart")(lambda _event: add_context("be brief"))
    hooks.on("AfterModel")(lambda _event: {"systemMessage": "mind"})
    model = script("One.", "Two.")
    await Runner.run(hooked(Agent(name="clerk", model=model), hooks), "Tell.")
    first, second = ([(i["role"], i["content"]) for i in each.input] for each in model.calls)
    assert first == [("user", "Tell."), ("user", "be brief")]
    assert second == [
        *first,
        *(("assistant", "One."), ("user", "once more"), ("user", "[System] mind")),
    ]


@pytest.mark.parametrize("clears", [True, False])
async def test_a_conversation_that_the_program_keeps_is_not_cleared_and_that_is_told(
    clears: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _event: {"hookSpecificOutput": {"clearContext": clears}})
    assert (
        await Runner.run(make_agent(script("Hello."), hooks), "Go on.")
    ).final_output == "Hello."
    assert ("AfterAgent hooks want the conversation cleared" in caplog.text) is clears


async def test_a_turn_that_hooks_stopped_is_not_sent_back(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: stop("enough"))
    hooks.on("AfterAgent")(lambda _event: deny("run ls first"))
    model = script("Hello.")
    assert (await Runner.run(make_agent(model, hooks), "Go on.")).final_output == "enough"
    assert not model.calls
    assert "that other hooks had ended; it stays ended: run ls first" in caplog.text
