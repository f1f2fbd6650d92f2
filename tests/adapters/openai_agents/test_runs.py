"""What is known of one run: its session, its stops, and what hooks answered before."""

from contextvars import copy_context
from typing import Any

import pytest
from agents import Agent, RunContextWrapper

from hookline import Hooks
from hookline.adapters.openai_agents.guard import Guard
from hookline.adapters.openai_agents.runs import (
    Facts,
    Run,
    agent_instead,
    current_run,
    noting,
    run_facts,
    run_instead,
)
from hookline.adapters.steps import outer_run
from hookline.errors import HooklineError


def make_run(facts: Facts | None = None, outer: Run | None = None, **options: Any) -> Run:
    if outer is None:
        return Run(Guard(Hooks(**options), None), "clerk", facts)
    with outer.inside_tool():
        return Run(outer.guard, "helper", facts)


def test_a_run_that_a_tool_starts_belongs_to_the_run_of_the_same_hooks() -> None:
    outer = make_run(Facts(session_id="s"))
    inner = make_run(Facts(session_id="t"), outer)
    innermost = make_run(None, inner)
    assert (innermost.root, inner.root, outer.root) == (outer, outer, outer)
    assert innermost.conversation is outer.conversation
    assert innermost.session_id == "s"
    with outer.inside_tool():
        other = Run(Guard(Hooks(), None), "stranger", None)
    assert other.root is other
    assert [run.turn_id for run in (inner, innermost, other)] == [outer.turn_id] * 3
    assert [run.agent.depth for run in (outer, inner, innermost, other)] == [0, 1, 2, 1]
    innermost.end("enough")
    assert (outer.stop, inner.stop, other.stop) == ("enough", "enough", None)
    assert outer.facts is not None
    assert outer.facts.stop == "enough"


def test_a_run_goes_on_with_the_stop_of_its_state() -> None:
    assert make_run(Facts(stop="enough")).stop == "enough"
    run, other = make_run(), make_run()
    run.learn(Facts(stop="enough", is_resumed=True))
    assert (run.stop, run.is_resumed) == ("enough", True)
    other.learn(Facts())
    assert (other.stop, other.is_resumed) == (None, False)


def test_a_run_without_a_session_gets_one_of_its_own_and_tells_the_runner() -> None:
    facts = Facts()
    run = make_run(facts)
    assert run.session_id == facts.session_id == run.session_id
    assert make_run(Facts(session_id="s")).session_id == "s"
    assert make_run().session_id != make_run().session_id


@pytest.mark.parametrize(
    ("name", "given", "is_found"),
    [("pay", {"to": "ann"}, True), ("pay", {"to": "bob"}, False), ("send", {"to": "ann"}, False)],
)
def test_what_hooks_answered_counts_for_the_same_tool_and_input(
    name: str, given: dict[str, Any], is_found: bool
) -> None:
    answered = {"decision": "ask"}
    questions: dict[str, Any] = {
        "0": {"tool_name": "pay", "tool_input": {"to": "ann"}, "answered": "forged"},
        "1": {"tool_name": "pay", "tool_input": {"to": "eve"}, "answered": {}},
        "2": {"tool_name": "pay", "tool_input": {"to": "ann"}, "answered": answered},
    }
    run = make_run(Facts(questions=questions))
    assert run.find_answer(name, given) is (answered if is_found else None)
    assert make_run().find_answer(name, given) is None


def test_what_hooks_do_not_see_is_told_once_a_run(caplog: pytest.LogCaptureFixture) -> None:
    run = make_run()
    for problem in (None, "one", "two", "one"):
        run.notice(problem)
    run.warn_once("two")
    assert [caplog.text.count(problem) for problem in ("one", "two")] == [1, 1]
    with pytest.raises(HooklineError, match="one"):
        make_run(strict=True).notice("one")
    make_run(strict=True).notice(None)
    make_run(strict=True, enable_hooks=False).notice("one")


def test_a_run_that_another_runner_began_is_told(caplog: pytest.LogCaptureFixture) -> None:
    make_run(Facts()).check_runner()
    assert not caplog.text
    make_run().check_runner()
    assert "did not begin with hookline's runner" in caplog.text


def test_a_run_is_known_only_within_its_own_context() -> None:
    facts, run = Facts(), make_run()

    def check() -> None:
        run.take_turn()
        with noting(facts):
            assert (run_facts(), current_run()) == (facts, None)
            with run.inside_tool():
                assert outer_run() is run
            assert outer_run() is None
        assert (run_facts(), current_run()) == (None, run)

    copy_context().run(check)
    assert current_run() is None


def test_an_agent_runs_in_the_place_of_another_only_within_its_tool() -> None:
    own, other, third = (Agent[Any](name=name) for name in "abc")
    with run_instead(own, other):
        assert (agent_instead(own), agent_instead(third)) == (other, third)
    assert agent_instead(own) is own


def test_a_context_has_one_run_until_another_begins_with_it() -> None:
    guard, context = Guard(Hooks(), None), RunContextWrapper[Any](None)
    first = guard.find_run(context, "clerk")
    assert (guard.find_run(context, "clerk"), first.facts) == (first, None)
    facts = Facts(session_id="s")
    with noting(facts):
        assert guard.find_run(context, "clerk") is first
        assert first.facts is facts
    assert guard.find_run(context, "clerk") is first
    with noting(Facts()):
        assert guard.find_run(context, "clerk") is not first


def test_an_agent_is_hooked_once_and_forgotten_with_it() -> None:
    guard, agent = Guard(Hooks(), None), Agent[Any](name="clerk")
    made = guard.hook(agent)
    assert guard.hook(agent) is made
    assert guard.hook(made) is made
    assert guard.hook("clerk") == "clerk"
    assert made.tools is not agent.tools
    assert type(made).__qualname__ == Agent.__qualname__
    assert type(guard.hook(Agent[Any](name="other"))) is type(made)
