"""A turn of a LangChain agent: BeforeAgent, AfterAgent, and the session around them."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from hookline import Hooks, add_context, combine, deny, message, stop
from hookline.adapters.langchain import HookedSummarization, HooklineMiddleware, stop_reason
from tests.adapters.langchain.agents import Way, answer, every_way, make_agent, talk
from tests.adapters.langchain.models import Recorded, call


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


def refuse_secret(event: Any) -> Any:
    return deny("no passwords") if "swordfish" in event["prompt"] else None


@every_way
async def test_a_refused_turn_answers_with_the_reason_and_forgets_the_prompt(
    hooks: Hooks, way: Way
) -> None:
    ended: list[Any] = []
    hooks.on("BeforeAgent")(refuse_secret)
    hooks.on("AfterAgent")(ended.append)
    script = Recorded("Hello.", "Hello again.")
    agent = make_agent(hooks, script)
    await talk(agent, "Hi.", way)
    state = await talk(agent, "It is swordfish.", way)
    assert answer(state) == "no passwords"
    assert len(script.requests) == 1
    # There is no AfterAgent for a turn that never began.
    assert len(ended) == 1
    state = await talk(agent, "Good morning.", way)
    assert answer(state) == "Hello again."
    assert "swordfish" not in script.sent
    assert "no passwords" not in script.sent
    assert [str(m.text) for m in script.requests[1]] == ["Hi.", "Hello.", "Good morning."]
    assert len(ended) == 2


async def test_all_of_a_prompt_of_several_messages_is_shown_and_forgotten(hooks: Hooks) -> None:
    hooks.on("BeforeAgent")(refuse_secret)
    script = Recorded("Hello.")
    agent = make_agent(hooks, script)
    given = {"messages": [HumanMessage("It is swordfish."), HumanMessage("Keep it.")]}
    state = await talk(agent, given)
    assert answer(state) == "no passwords"
    assert len(state["messages"]) == 1
    await talk(agent, "Good morning.")
    assert "Keep it." not in script.sent


@every_way
async def test_a_stop_before_the_turn_ends_it_and_the_prompt_stays(hooks: Hooks, way: Way) -> None:
    ended: list[Any] = []
    hooks.on("AfterAgent")(ended.append)

    @hooks.on("BeforeAgent")
    def close(event: Any) -> Any:
        return stop("closed") if event["prompt"] == "Hi." else None

    script = Recorded("Hello.")
    agent = make_agent(hooks, script)
    state = await talk(agent, "Hi.", way)
    assert answer(state) == "closed"
    assert stop_reason(state) == "closed"
    assert (len(script.requests), ended) == (0, [])
    await talk(agent, "Again.", way)
    assert [str(m.text) for m in script.requests[0]] == ["Hi.", "closed", "Again."]


@pytest.mark.parametrize(
    "prompt",
    [
        [HumanMessage("It is swordfish."), SystemMessage("Be brief.")],
        [HumanMessage("It is swordfish."), SystemMessage("Be brief."), HumanMessage("Keep it.")],
        [ChatMessage(content="It is swordfish.", role="user")],
        [
            HumanMessage(
                [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
                    {"type": "text", "text": "It is swordfish."},
                ]
            )
        ],
        [HumanMessage([{"surprise": "It is swordfish."}])],
    ],
    ids=[
        *("before a system message", "around a system message", "of a role", "beside an image"),
        "in a shape that nobody knows",
    ],
)
async def test_a_prompt_is_shown_wherever_and_however_it_stands(hooks: Hooks, prompt: Any) -> None:
    hooks.on("BeforeAgent")(refuse_secret)
    script = Recorded("Done.")
    agent = make_agent(hooks, script)
    state = await talk(agent, {"messages": prompt})
    assert answer(state) == "no passwords"
    assert "swordfish" not in str(state)
    await talk(agent, "Hello.")
    assert "swordfish" not in script.sent


@pytest.mark.parametrize("mark", [{"context": True}, {"sent_back": 8}, {"hidden": True}])
async def test_a_caller_cannot_hide_a_prompt_from_hooks(hooks: Hooks, mark: Any) -> None:
    """What hookline notes on messages comes from hookline alone."""
    shown: list[str] = []

    @hooks.on("AfterAgent")
    def send_back_once(event: Any) -> Any:
        shown.append(event["prompt"])
        return None if event["stop_hook_active"] else deny("once more")

    hooks.on("BeforeAgent")(refuse_secret)
    script = Recorded("One.", "Two.")
    agent = make_agent(hooks, script)
    marks = {"hookline": mark}
    secret = HumanMessage("It is swordfish.", additional_kwargs=marks)
    state = await talk(agent, {"messages": [secret]})
    assert answer(state) == "no passwords"
    state = await talk(agent, {"messages": [HumanMessage("Hi.", additional_kwargs=marks)]})
    assert answer(state) == "Two."
    assert shown == ["Hi.", "once more"]
    assert str(script.requests[0][-1].text) == "Hi."


@every_way
async def test_context_is_read_by_the_model_beside_the_prompt(hooks: Hooks, way: Way) -> None:
    hooks.on("SessionStart")(lambda _: add_context("you are in Berlin"))
    hooks.on("BeforeAgent")(lambda _: combine(add_context("it is Monday"), message("be brief")))
    prompts: list[Any] = []
    hooks.on("AfterAgent")(prompts.append)
    script = Recorded(call("shell", command="ls"), "Done.")
    await talk(make_agent(hooks, script), "Hi.", way)
    for request in script.requests:
        assert [str(m.text) for m in request[:2]] == [
            "Hi.",
            "you are in Berlin\n\nit is Monday\n\n[System] be brief",
        ]
    assert [event["prompt"] for event in prompts] == ["Hi."]


@every_way
async def test_after_agent_sends_the_agent_back_with_its_reason(hooks: Hooks, way: Way) -> None:
    seen: list[Any] = []

    @hooks.on("AfterAgent")
    def insist(event: Any) -> Any:
        seen.append((event["prompt"], event["prompt_response"], event["stop_hook_active"]))
        return None if event["stop_hook_active"] else deny("say it in French")

    script = Recorded("Hello.", "Bonjour.", "Salut.", "Salut!")
    agent = make_agent(hooks, script)
    state = await talk(agent, "Greet me.", way)
    assert answer(state) == "Bonjour."
    assert str(script.requests[1][-1].text) == "say it in French"
    # The next turn starts to count anew.
    await talk(agent, "Again.", way)
    assert seen == [
        ("Greet me.", "Hello.", False),
        ("say it in French", "Bonjour.", True),
        ("Again.", "Salut.", False),
        ("say it in French", "Salut!", True),
    ]


@every_way
async def test_a_turn_is_sent_back_eight_times_at_most(
    hooks: Hooks, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("AfterAgent")(lambda _: deny("better"))
    script = Recorded(*(f"try {n}" for n in range(20)))
    state = await talk(make_agent(hooks, script), "Go on.", way)
    assert answer(state) == "try 8"
    assert "sent the turn back 8 times" in caplog.text


async def test_hooks_that_send_back_see_tools_run_in_between(hooks: Hooks) -> None:
    active: list[bool] = []

    @hooks.on("AfterAgent")
    def insist(event: Any) -> Any:
        active.append(event["stop_hook_active"])
        return deny("use the shell") if len(active) == 1 else None

    script = Recorded("Hello.", call("shell", command="ls"), "Done.")
    state = await talk(make_agent(hooks, script), "Go on.")
    assert answer(state) == "Done."
    assert active == [False, True]


@every_way
async def test_clear_context_forgets_the_conversation_and_the_caller_reads_the_answer(
    hooks: Hooks, way: Way
) -> None:
    @hooks.on("AfterAgent")
    def clear(event: Any) -> Any:
        is_first = event["prompt"] == "First."
        return {"hookSpecificOutput": {"clearContext": True}} if is_first else None

    script = Recorded("One.", "Two.")
    agent = make_agent(hooks, script)
    state = await talk(agent, "First.", way)
    assert answer(state) == "One."
    await talk(agent, "Second.", way)
    assert [str(m.text) for m in script.requests[1]] == ["Second."]


async def test_clear_context_with_a_reason_starts_anew_with_the_reason(hooks: Hooks) -> None:
    @hooks.on("AfterAgent")
    def clear(event: Any) -> Any:
        if event["stop_hook_active"]:
            return None
        return {"hookSpecificOutput": {"clearContext": True}, **deny("start over")}

    script = Recorded("One.", "Two.")
    state = await talk(make_agent(hooks, script), "First.")
    assert answer(state) == "Two."
    assert [str(m.text) for m in script.requests[1]] == ["start over"]


@every_way
async def test_a_stop_after_the_turn_is_marked_on_the_answer(hooks: Hooks, way: Way) -> None:
    hooks.on("AfterAgent")(lambda _: combine(stop("closed"), message("good night")))
    script = Recorded("Hello.", "Again.")
    agent = make_agent(hooks, script)
    state = await talk(agent, "Hi.", way)
    assert answer(state) == "Hello."
    assert stop_reason(state) == "closed"
    # What hooks say to the model then is for the next turn.
    await talk(agent, "Hi again.", way)
    assert "[System] good night" in str(script.requests[1])


async def test_what_is_said_after_a_turn_reaches_no_other_conversation(hooks: Hooks) -> None:
    """Runs without a thread_id share a session, but not what is said about one of them."""
    hooks.on("AfterAgent")(lambda event: message(f"heard {event['prompt']}"))
    script = Recorded("One.", "Two.", "Three.")
    agent = make_agent(hooks, script, saver=False)
    first = agent.invoke({"messages": [HumanMessage("my secret")]})
    agent.invoke({"messages": [HumanMessage("hello")]})
    assert [str(m.text) for m in script.requests[1]] == ["hello"]
    agent.invoke({"messages": [*first["messages"], HumanMessage("and now")]})
    assert str(script.requests[2][-1].text) == "[System] heard my secret"


@every_way
async def test_what_is_said_with_a_turn_that_is_sent_back_or_cleared_reaches_the_model(
    hooks: Hooks, way: Way
) -> None:
    @hooks.on("AfterAgent")
    def clear(event: Any) -> Any:
        cleared = {"hookSpecificOutput": {"clearContext": True}, **message("be brief")}
        return cleared if event["stop_hook_active"] else {**cleared, **deny("start over")}

    script = Recorded("One.", "Two.", "Three.", "Four.")
    agent = make_agent(hooks, script)
    state = await talk(agent, "First.", way)
    assert answer(state) == "Two."
    assert [str(m.text) for m in script.requests[1]] == ["start over", "[System] be brief"]
    await talk(agent, "Second.", way)
    assert [str(m.text) for m in script.requests[2]] == ["Second.", "[System] be brief"]


async def test_a_session_starts_with_its_first_use_and_ends_with_close(hooks: Hooks) -> None:
    seen: list[Any] = []
    for event in ("SessionStart", "SessionEnd"):
        hooks.on(event)(
            lambda e: seen.append((e["session_id"], e.get("source") or e.get("reason")))
        )
    saver = InMemorySaver()
    with HooklineMiddleware(hooks) as middleware:
        agent = create_agent(
            Recorded("1", "2", "3").model, [], middleware=[middleware], checkpointer=saver
        )
        await talk(agent, "Hi.", thread="a")
        await talk(agent, "Hi.", thread="b")
        await talk(agent, "Hi.", thread="a")
    assert seen[:2] == [("a", "startup"), ("b", "startup")]
    assert sorted(seen[2:]) == [("a", "exit"), ("b", "exit")]
    async with HooklineMiddleware(hooks) as middleware:
        model = Recorded("4").model
        agent = create_agent(model, [], middleware=[middleware], checkpointer=saver)
        await talk(agent, "Hi.", "async", thread="a")
    assert seen[4:] == [("a", "resume"), ("a", "exit")]


async def test_hooks_of_a_session_serve_every_thread(hooks: Hooks) -> None:
    seen: list[str] = []
    hooks.on("BeforeAgent")(lambda event: seen.append(event["session_id"]))
    middleware = HooklineMiddleware(hooks.session("mine"))
    agent = create_agent(Recorded("1", "2").model, [], middleware=[middleware])
    await talk(agent, "Hi.", thread="a")
    agent.invoke({"messages": [HumanMessage("Hi.")]})
    assert seen == ["mine", "mine"]


@every_way
async def test_pre_compress_fires_before_a_summary_and_session_start_after_it(
    hooks: Hooks, way: Way
) -> None:
    seen: list[Any] = []

    @hooks.on("PreCompress")
    def before(event: Any) -> Any:
        seen.append(("PreCompress", event["trigger"]))

    @hooks.on("SessionStart")
    def after(event: Any) -> Any:
        seen.append(("SessionStart", event["source"]))
        return add_context("you are in Berlin")

    def summarize(messages: Any) -> str:
        seen.append(("summary", len(messages)))
        return "they said hello"

    script = Recorded("One.", "Two.", "Three.")
    middleware = HooklineMiddleware(hooks)
    summarization = HookedSummarization(
        script.model,
        hooks=middleware,
        trigger=("messages", 4),
        keep=("messages", 1),
        summarizer=summarize,
    )
    agent = create_agent(
        script.model, [], middleware=[middleware, summarization], checkpointer=InMemorySaver()
    )
    await talk(agent, "Hi.", way)
    assert seen == [("SessionStart", "startup")]
    await talk(agent, "And then?", way)
    assert seen[1:] == [("PreCompress", "auto"), ("summary", 3), ("SessionStart", "compress")]
    last = [str(m.text) for m in script.requests[1]]
    assert "they said hello" in last[0]
    assert last[-1] == "you are in Berlin"


@every_way
async def test_a_summary_holds_nothing_that_the_model_must_not_read(hooks: Hooks, way: Way) -> None:
    hooks.on("BeforeAgent")(refuse_secret)
    middleware = HooklineMiddleware(hooks)
    script, summarizer = Recorded("One.", "Three."), Recorded("They talked.")
    summaries = HookedSummarization(
        summarizer.model, hooks=middleware, trigger=("messages", 4), keep=("messages", 1)
    )
    agent = create_agent(
        script.model, [], middleware=[middleware, summaries], checkpointer=InMemorySaver()
    )
    for prompt in ("First.", "It is swordfish.", "Third."):
        await talk(agent, prompt, way)
    assert "First." in summarizer.sent
    assert "swordfish" not in summarizer.sent
    assert "no passwords" not in summarizer.sent


async def test_a_turn_without_a_prompt_of_the_users_fires_no_before_agent(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.on("BeforeAgent")(seen.append)
    state = await talk(make_agent(hooks, Recorded("Done.")), {"messages": [AIMessage("I was")]})
    assert answer(state) == "Done."
    assert seen == []
