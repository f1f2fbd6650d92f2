"""What the runner notes of a run, and the marks that it puts on a run's questions."""

from types import SimpleNamespace
from typing import Any

import pytest
from agents import Agent, RunConfig, SQLiteSession, ToolApprovalItem
from agents.models.multi_provider import MultiProvider

from hookline import Hooks
from hookline.adapters.openai_agents import hooked
from hookline.adapters.openai_agents.items import Mark, read_mark
from hookline.adapters.openai_agents.model import HookedProvider, hook_model
from hookline.adapters.openai_agents.runner import _mark_questions, _prepare, find_bypass
from hookline.adapters.openai_agents.runs import Facts
from tests.adapters.openai_agents.playing import script

ANSWERED = {"decision": "ask", "reason": "sure?"}


def question(name: str = "pay", space: str | None = None, **fields: Any) -> ToolApprovalItem:
    raw = {"type": "function_call", "name": name, "call_id": "1", **fields}
    agent = Agent[Any](name="clerk")
    return ToolApprovalItem(agent=agent, raw_item=raw, tool_name=name, tool_namespace=space)


def marked(facts: Facts, item: ToolApprovalItem) -> Any:
    result: Any = SimpleNamespace(interruptions=[item])
    assert _mark_questions(result, facts) is result
    return read_mark(item)


@pytest.mark.parametrize(
    ("item", "is_its"),
    [
        (question(), True),
        (question(call_id="2"), False),
        (question("send"), False),
        (question("pay", "bank"), False),
    ],
    ids=["its", "another call", "another tool", "another namespace"],
)
def test_a_question_is_marked_with_what_hooks_answered_about_its_own_call(
    item: ToolApprovalItem, is_its: bool
) -> None:
    mark = Mark(tool_name="pay", tool_input={}, answered=ANSWERED)
    assert marked(Facts(questions={"1": mark}), item) == (mark if is_its else {})


def test_a_mark_that_an_agent_as_a_tool_put_on_its_question_stays() -> None:
    inner = Mark(tool_name="pay", tool_input={"to": "ann"}, answered=ANSWERED)
    outer = Mark(tool_name="pay", tool_input={}, answered={})
    assert marked(Facts(questions={"1": outer}), question(hookline=inner)) == inner
    # Only hookline makes marks of this class; what a model wrote has another.
    assert marked(Facts(questions={"1": outer}), question(hookline=dict(inner))) == outer


def test_a_stop_is_noted_on_every_question_with_the_session_it_belongs_to() -> None:
    facts = Facts(stop="enough", session_id="s-1")
    assert marked(facts, question()) == {"session_id": "s-1", "stop": "enough"}
    mark = Mark(tool_name="pay", session_id="s-1", answered=ANSWERED)
    facts = Facts(stop="enough", session_id="s-1", questions={"1": mark})
    assert marked(facts, question()) == {**mark, "stop": "enough"}


def prepare(agent: Any, **options: Any) -> tuple[dict[str, Any], Facts]:
    _agent, made, facts = _prepare(agent, "Hi.", options)
    return made, facts


@pytest.mark.parametrize(
    ("options", "id"),
    [
        ({"conversation_id": "c", "run_config": RunConfig(group_id="g")}, "c"),
        ({"conversation_id": " ", "run_config": RunConfig(group_id="g")}, "g"),
        ({"run_config": {"group_id": "g"}}, "g"),
        ({"session": SimpleNamespace(session_id=5), "run_config": {"group_id": "g"}}, "g"),
        ({}, None),
    ],
)
def test_the_session_of_a_run_is_the_first_id_that_is_a_text(options: Any, id: str | None) -> None:
    _made, facts = prepare(hooked(Agent(name="clerk"), Hooks()), **options)
    assert (facts.session_id, facts.is_resumed) == (id, False)


def test_the_id_of_a_session_counts_before_that_of_a_group() -> None:
    session, config = SQLiteSession("s"), RunConfig(group_id="g")
    agent = Agent[Any](name="clerk")
    assert prepare(agent, session=session, run_config=config)[1].session_id == "s"
    chosen = {"conversation_id": "c", "session": session}
    assert prepare(agent, **chosen)[1].session_id == "c"
    session.close()


@pytest.mark.parametrize(
    "name", ["conversation_id", "previous_response_id", "auto_previous_response_id"]
)
def test_the_provider_keeps_a_conversation_that_an_option_names(name: str) -> None:
    agent = Agent[Any](name="clerk")
    assert prepare(agent, **{name: "x"})[1].is_kept
    assert not prepare(agent, **{name: None}, session=None)[1].is_kept


def test_models_that_have_names_are_hooked_for_a_hooked_agent_alone() -> None:
    provider = MultiProvider()
    for config in (None, {}, {"model_provider": provider}, RunConfig(model_provider=provider)):
        agent = Agent[Any](name="clerk")
        made, facts = prepare(agent, run_config=config)
        assert (made["run_config"], facts.hooks_names) == (config, False)
        made, facts = prepare(hooked(agent, Hooks()), run_config=config, max_turns=3)
        found = made["run_config"]
        used = found["model_provider"] if isinstance(found, dict) else found.model_provider
        assert (type(used), facts.hooks_names) == (HookedProvider, True)
        assert made["max_turns"] == 3
        again, _facts = prepare(hooked(agent, Hooks()), run_config=found)
        kept = again["run_config"]
        assert used is (kept["model_provider"] if isinstance(kept, dict) else kept.model_provider)


def test_a_run_bypasses_hooks_with_another_model_or_a_name_that_nobody_hooked() -> None:
    named, own = Agent[Any](name="clerk", model="small"), Agent[Any](name="clerk", model=script())
    other = Facts(model=script(), hooks_names=True)
    assert "RunConfig(model=…) bypasses hooks" in (find_bypass(own, other) or "")
    assert find_bypass(own, Facts(model=hook_model(script()), hooks_names=True)) is None
    assert find_bypass(named, Facts(model="big", hooks_names=True)) is None
    assert "began with an agent that has no hooks" in (find_bypass(named, Facts()) or "")
    assert find_bypass(own, Facts()) is None
