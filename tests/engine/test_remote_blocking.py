"""Ways around a policy that is asked over a bus: each ends in a block where an outage does."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, MessageBusType
from hookline.contract import Config, HookSystem
from hookline.pipeline.answer import Answer
from hookline.trace.records import DebugLogger
from tests.eleven import Json, answering, on_every_event, started

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
COMPLETED: Json = {
    "success": True,
    "finalOutput": {"continue": True, "suppressOutput": False, "decision": "allow"},
    "allOutputs": [{"decision": "allow"}],
    "errors": [],
    "totalDuration": 1.0,
}


def completed(**fields: Any) -> Json:
    """A response of a worker whose hooks allow, with other words in its output."""
    return {"success": True, "output": {**COMPLETED, **fields}}


def final(**fields: Any) -> Json:
    return completed(finalOutput={**COMPLETED["finalOutput"], **fields})


def without(name: str) -> Json:
    return {"success": True, "output": {k: v for k, v in COMPLETED.items() if k != name}}


def answering_bus(say: Callable[[Json], Json] | Json, asked: list[Json] | None = None) -> Any:
    """A bus on which somebody answers every request with this."""
    bus = InProcessMessageBus()

    async def answer(request: Json) -> None:
        if asked is not None:
            asked.append(request)
        said = say(request) if callable(say) else say
        own = {"type": "hook-execution-response", "correlationId": request["correlationId"]}
        await bus.publish({**own, **said})

    bus.subscribe(REQUEST, answer)
    return bus


async def fire(bus: Any, event: str = "BeforeTool", **options: Any) -> Answer:
    """What an agent is told that asks this bus about a tool."""
    options = {"remote_timeout": 5, "on_unavailable": "block", **options}
    inputs: dict[str, Json] = {"SessionStart": {"source": "startup"}}
    async with HookSystem(Config(remote_bus=bus, **options)) as agent:
        input = inputs.get(event, {"tool_name": "shell", "tool_input": {"command": "rm -rf /"}})
        return await agent.get_event_handler().fire(event, input)


LIES: dict[str, Json] = {
    "no output": {"success": True},
    "null output": {"success": True, "output": None},
    "success in quotes": {**completed(), "success": "true"},
    "success as a number": {**completed(), "success": 1},
    "success beside an error": {**completed(), "error": {"code": "x", "message": "m"}},
    "output is a list": {"success": True, "output": []},
    "output success in quotes": completed(success="true"),
    "no final output": without("finalOutput"),
    "no outputs": without("allOutputs"),
    "no errors": without("errors"),
    "final output is text": completed(finalOutput="allow"),
    "final output is a list": completed(finalOutput=[]),
    "final output was lost": completed(finalOutput=None),
    "an unknown word": final(decision="alow"),
    "a word that is none": final(decision=["allow"]),
    "a capital letter": final(decision="Allow"),
    "continue in quotes": final(**{"continue": "true"}),
    "a slip in a name": completed(finalOutput={"decison": "allow"}),
    "a permission that is none": completed(
        finalOutput={"hookSpecificOutput": {"permissionDecision": "alow"}}
    ),
    "a permission that is a list": completed(
        finalOutput={"hookSpecificOutput": {"permissionDecision": []}}
    ),
    "a reason that is none": final(reason=["no"]),
    "specific output is text": final(hookSpecificOutput="{}"),
    "outputs are text": completed(allOutputs=["deny"]),
    "errors are text": completed(errors=["deny"]),
    "a failure with an output": {**completed(), "success": False},
    "a failure without a word": {"success": False},
    "an error that is text": {"success": False, "error": "no"},
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_malformed_response_blocks_where_an_outage_does(lie: str) -> None:
    bus = answering_bus(LIES[lie])
    blocked, allowed = await fire(bus), await fire(bus, on_unavailable="allow")
    assert blocked.decision == "deny"
    assert (blocked.reason or "").startswith("the hooks did not answer: ")
    assert blocked.errors[0].details == {"onUnavailable": "block"}
    assert allowed.decision == "allow"
    assert not allowed.success


async def test_a_well_formed_response_is_believed() -> None:
    answer = await fire(answering_bus(completed()))
    assert (answer.decision, answer.success, answer.errors) == ("allow", True, [])
    newer = final(somethingNew=1)
    assert (await fire(answering_bus({**newer, "more": 1}))).success


@pytest.mark.parametrize(
    "output",
    [
        {"decision": "Deny", "reason": "no"},
        {"decision": " BLOCK ", "reason": "no"},
        {"decision": "deny", "reason": "no", "suppressOutput": "yes"},
        {"decision": "deny", "reason": "no", "continue": "true"},
        {"continue": "false", "stopReason": "no"},
        {"continue": 0, "stopReason": "no"},
        {"hookSpecificOutput": {"permissionDecision": "Deny", "permissionDecisionReason": "no"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("meaning", ["allow", "block", "local"])
@pytest.mark.parametrize("execution", ["remote", "local+remote"])
async def test_a_garbled_denial_is_a_denial_whatever_an_outage_means(
    output: Json, meaning: Any, execution: Any
) -> None:
    answer = await fire(
        answering_bus(completed(finalOutput=output, allOutputs=[])),
        on_unavailable=meaning,
        execution=execution,
    )
    assert answer.blocked
    assert "no" in (answer.reason or "")
    assert not answer.success


@pytest.mark.parametrize("lie", [{"finalOutput": None}, {"errors": "none"}], ids=str)
async def test_a_denial_in_a_malformed_response_is_a_denial(lie: Json) -> None:
    denial = {"decision": "deny", "reason": "no"}
    said = completed(allOutputs=[{"decision": "allow"}, denial], **lie)
    answer = await fire(answering_bus(said), on_unavailable="allow")
    assert (answer.decision, answer.reason) == ("deny", "no")


async def test_the_final_output_of_a_worker_decides() -> None:
    """A worker is trusted: whoever can forge its answers can have all of them say allow."""
    said = completed(allOutputs=[{"decision": "deny"}])
    assert (await fire(answering_bus(said))).decision == "allow"


@pytest.mark.parametrize("word", [{"decision": "deny"}, {"continue": False}], ids=str)
async def test_a_denial_that_is_in_no_hooks_output_is_merged_with_those_here(word: Json) -> None:
    answer = await fire(
        answering_bus(completed(finalOutput={**word, "reason": "no"}, allOutputs=[])),
        execution="local+remote",
        on_unavailable="allow",
    )
    assert (answer.blocked, answer.reason) == (True, "no")


FAILURES = (
    *("unsupported_event", "invalid_request", "invalid_payload", "planning_failed"),
    *("translation_failed", "execution_failed", "aggregation_failed", "response_failed"),
    *("internal_error", "policy_changed", "busy", "a code of tomorrow"),
)


@pytest.mark.parametrize("code", FAILURES)
@pytest.mark.parametrize("execution", ["remote", "local+remote"])
async def test_whatever_a_worker_says_but_a_completed_execution_is_an_outage(
    code: str, execution: Any
) -> None:
    failed = {"success": False, "error": {"code": code, "message": "why", "details": {}}}
    answer = await fire(answering_bus(failed), execution=execution)
    assert (answer.decision, answer.reason) == ("deny", "the hooks did not answer: why")
    assert [error.code for error in answer.errors] == [code]


@pytest.mark.parametrize("code", FAILURES)
async def test_where_an_outage_means_local_those_here_run_whatever_a_worker_says(
    tmp_path: Path, code: str
) -> None:
    bus = answering_bus({"success": False, "error": {"code": code, "message": "why"}})
    hooks = on_every_event(answering('{"decision":"deny","reason":"here"}'))
    agent = await started(tmp_path, hooks, remote_bus=bus, on_unavailable="local")
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {})
    assert (answer.decision, answer.reason, answer.success) == ("deny", "here", False)


class Unreadable:
    """What a model SDK may hand over one day."""

    def __getattr__(self, name: str) -> Any:
        raise LookupError(f"{name} cannot be read")


@pytest.mark.parametrize("meaning", ["allow", "block", "local"])
async def test_what_cannot_be_translated_here_is_an_outage(meaning: Any) -> None:
    asked: list[Json] = []
    config = Config(remote_bus=answering_bus(completed(), asked), on_unavailable=meaning)
    async with HookSystem(config) as agent:
        answer = await agent.get_event_handler().fire_before_model_event(Unreadable())
    assert asked == []
    assert answer.success is False
    assert answer.errors[-1].code == "translation_failed"
    assert (answer.decision == "deny") is (meaning == "block")
    assert answer.word == ("blocked" if meaning == "block" else "failed")


class FailingBus(InProcessMessageBus):
    async def request(self, _message: Any, **_options: Any) -> Any:
        raise LookupError("out of order")


class NonsenseBus(InProcessMessageBus):
    def __init__(self, response: Any) -> None:
        super().__init__()
        self._response = response

    async def request(self, _message: Any, **_options: Any) -> Any:
        return self._response


NONSENSE: tuple[Any, ...] = (None, "allow", [], 1, {})
ODD_BUSES = [FailingBus(), *map(NonsenseBus, NONSENSE)]


@pytest.mark.parametrize("bus", ODD_BUSES, ids=lambda bus: type(bus).__name__)
async def test_a_bus_that_fails_or_returns_nonsense_is_an_outage(bus: Any) -> None:
    assert (await fire(bus)).decision == "deny"


@pytest.mark.parametrize("meaning", ["allow", "block", "local"])
@pytest.mark.parametrize("execution", ["remote", "local+remote"])
async def test_in_strict_mode_an_outage_blocks_whatever_it_is_said_to_mean(
    meaning: Any, execution: Any
) -> None:
    failed = {"success": False, "error": {"code": "invalid_payload", "message": "why"}}
    options = {"on_unavailable": meaning, "execution": execution, "strict": True}
    answer = await fire(answering_bus(failed), **options)
    assert (answer.decision, answer.word) == ("deny", "blocked")
    assert answer.errors[-1].details == {"onUnavailable": "block"}
    assert (await fire(answering_bus(completed()), **options)).decision == "allow"


async def test_in_strict_mode_what_hides_below_a_cut_is_not_sent_on(tmp_path: Path) -> None:
    deep: Any = "rm -rf /"
    for _ in range(300):
        deep = [deep]
    bus = answering_bus(completed())
    agent = await started(tmp_path, remote_bus=bus, strict=True)
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {"command": deep})
    assert answer.decision == "deny"


async def test_an_outage_on_an_event_that_cannot_be_blocked_is_told() -> None:
    records: list[Json] = []
    log = DebugLogger(records.append, warn=lambda _text: None)
    answer = await fire(
        answering_bus({"success": False}), "SessionStart", strict=True, debug_logger=log
    )
    assert not answer.blocked
    assert "the worker gave no reason" in str(records)


@pytest.mark.parametrize("rule", [{"on_unavailable": "block"}, {"strict": True}], ids=str)
async def test_an_input_that_is_none_is_an_outage_too(rule: Any) -> None:
    """A model chooses what a tool is called with, and an adapter may pass on whatever that is."""
    asked: list[Json] = []
    config = Config(remote_bus=answering_bus(completed(), asked), **rule)
    async with HookSystem(config) as agent:
        handler = agent.get_event_handler()
        input = {"tool_name": "shell", "tool_input": ["rm -rf /"]}
        by_name = await handler.fire("BeforeTool", input)
        blocking = agent.fire_blocking("BeforeTool", input)
        # Nobody knows what to block in what is no event.
        no_event = await handler.fire("BeforeTol", input)
        unblockable = await handler.fire_session_start_event("yesterday")  # type: ignore[arg-type]
    assert asked == []
    for answer in (by_name, blocking):
        assert (answer.decision, answer.errors[0].code) == ("deny", "invalid_payload")
        assert answer.errors[0].stage == "validation"
    assert (no_event.word, unblockable.blocked) == ("failed", False)


# In a process of its own: asyncio's loop that came to nothing is noisy about it.
WITHOUT_DESCRIPTORS = """
import os, resource, sys
from hookline.bus import InProcessMessageBus
from hookline.contract import Config
from hookline.contract import HookSystem
config = Config(remote_bus=InProcessMessageBus(), remote_timeout=0.1, on_unavailable=sys.argv[1])
system = HookSystem(config)
system.fire_blocking("BeforeAgent", {"prompt": "what is loaded later is loaded now"})
lowest = os.open(os.devnull, os.O_RDONLY)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))
answer = system.fire_blocking("BeforeTool", {"tool_name": "shell", "tool_input": {}})
print(answer.word, answer.errors[0].message)
"""


@pytest.mark.parametrize(("meaning", "word"), [("block", "blocked"), ("allow", "failed")])
def test_synchronous_code_without_a_free_descriptor_is_blocked(meaning: str, word: str) -> None:
    script = [sys.executable, "-c", WITHOUT_DESCRIPTORS, meaning]
    done = subprocess.run(script, capture_output=True, text=True, timeout=30)
    assert done.stdout.startswith(f"{word} [Errno 24] Too many open files"), done.stderr
