"""Events say who fires them and in which turn, to functions, scripts, workers and the trace."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hookline import Hooks
from hookline.bus import InProcessMessageBus
from hookline.bus.nats import NatsMessageBus
from hookline.hooks import HookSession
from hookline.trace.records import DebugLogger
from hookline.wire.fired import Actor, RunningAgent
from tests.eleven import started
from tests.harness.scratch import Project

ADA = {"user": "ada", "team": "ops"}
REVIEWER: dict[str, Any] = {"name": "reviewer", "id": "a-2", "parent": "agent", "depth": 1}
TOOL = {"tool_name": "shell", "tool_input": {}}
WHO = {"turn_id": "t-1", "agent": REVIEWER, "host": "mine", "labels": ADA}


def act_as(session: HookSession, **fields: Any) -> HookSession:
    """The session of a host that says who fires its events."""
    return HookSession(replace(session.view, get_actor=lambda: Actor(**fields)))


async def test_a_sessions_labels_stand_last_in_all_its_events_for_functions_and_scripts(
    project: Project,
) -> None:
    script = project.script("log.sh", "#!/bin/sh\ncat >> log\n")
    hook = {"type": "command", "command": str(script)}
    hooks, read = (
        Hooks(working_dir=project.path, hooks={"BeforeTool": [{"hooks": [hook]}]}),
        list[Any](),
    )
    hooks.on("BeforeTool")(read.append)
    session = hooks.session("s-7", labels=ADA)
    await act_as(session, turn_id="t-1", agent=RunningAgent(**REVIEWER)).before_tool("shell", {})
    [event] = read
    assert [*event][-4:] == ["tool_input", "turn_id", "agent", "labels"]
    assert (event["turn_id"], event["agent"], event["labels"]) == ("t-1", REVIEWER, ADA)
    assert json.loads((project.path / "log").read_text("utf-8")) == event


def test_only_the_sessions_own_events_have_its_labels() -> None:
    hooks, read = Hooks(), list[Any]()
    hooks.on("BeforeTool")(lambda event: read.append(event.get("labels")))
    for session in (hooks.session("a", labels={"user": "ada"}), hooks.session("b"), hooks):
        session.sync.run_tool(lambda: "", {}, name="shell")
    assert read == [{"user": "ada"}, None, None]


def test_a_later_change_of_the_callers_mapping_changes_no_label() -> None:
    hooks, read, labels = Hooks(), list[Any](), {"user": "ada"}
    hooks.on("BeforeTool")(lambda event: read.append(event["labels"]))
    session = hooks.session("a", labels=labels)
    labels["user"] = "eve"
    session.sync.before_tool("shell", {})
    assert read == [{"user": "ada"}]


@pytest.mark.parametrize("labels", [{"user": 7}, {7: "ada"}, {"user": None}, ["ada"], "ada"])
def test_a_label_that_is_no_string_is_refused_at_once(labels: Any) -> None:
    with pytest.raises(TypeError, match="labels must be"):
        Hooks().session("s", labels=labels)


def test_a_member_of_a_string_enum_is_a_label() -> None:
    class Role(StrEnum):
        ADMIN = "admin"

    hooks, read = Hooks(), list[Any]()
    hooks.on("BeforeTool")(lambda event: read.append(repr(event["labels"])))
    hooks.session("s", labels={"role": Role.ADMIN}).sync.before_tool("shell", {})
    assert read == ["{'role': 'admin'}"]


async def test_an_event_in_json_keeps_what_it_says_itself() -> None:
    hooks, read = Hooks(), list[Any]()
    hooks.on("BeforeTool")(read.append)
    mixed = {"labels": ADA, "novel": 1, "host": "mine", **TOOL, "agent": REVIEWER, "turn_id": "t-1"}
    await hooks.session("s", labels={"user": "eve"}).fire("BeforeTool", mixed)
    assert [*read[0]][-5:] == ["novel", "turn_id", "agent", "host", "labels"]
    assert {name: read[0][name] for name in WHO} == WHO


@pytest.mark.parametrize(
    ("field", "value"),
    [("turn_id", 5), ("agent", "reviewer"), ("agent", {"depth": 1}), ("labels", {"user": 7})],
)
async def test_a_field_of_the_wrong_type_is_no_event(field: str, value: Any) -> None:
    hooks = Hooks(strict=True)
    hooks.on("BeforeTool")(lambda _event: None)
    answer = await hooks.fire("BeforeTool", {**TOOL, field: value})
    assert answer.blocked
    assert f"{field} must be" in (answer.reason or "")


async def test_the_trace_has_them_also_of_an_event_without_hooks() -> None:
    records = list[dict[str, Any]]()
    hooks = Hooks(debug_logger=DebugLogger(records.append))
    session = act_as(hooks.session("s", labels=ADA), turn_id="t-1")
    await session.before_tool("shell", {})
    hooks.on("BeforeTool")(lambda _event: None)
    await session.before_tool("shell", {})
    batches = [record for record in records if record["kind"] == "batch"]
    assert [(batch["turn_id"], batch["labels"]) for batch in batches] == [("t-1", ADA)] * 2
    [hook] = [record for record in records if record["kind"] == "hook"]
    assert (hook["input"]["turn_id"], hook["input"]["labels"]) == ("t-1", ADA)


@pytest.mark.parametrize("bus_kind", ["memory", "nats"])
async def test_the_hooks_of_a_worker_read_them_too(
    bus_kind: str, nats_url: str, prefix: str, tmp_path: Path
) -> None:
    memory, read = InProcessMessageBus(), list[dict[str, Any]]()
    async with NatsMessageBus(nats_url, prefix=prefix) as nats:
        bus: Any = nats if bus_kind == "nats" else memory
        worker = await started(tmp_path / "w", message_bus=bus)
        worker.register_hook("BeforeTool", read.append)
        if bus_kind == "nats":
            await nats.connect()
        session = Hooks(remote_bus=bus).session("s", labels=ADA)
        await act_as(session, turn_id="t-1", agent=RunningAgent(**REVIEWER)).before_tool("x", {})
        worker.dispose()
    [event] = read
    assert [*event][-3:] == ["turn_id", "agent", "labels"]
    assert (event["turn_id"], event["agent"], event["labels"]) == ("t-1", REVIEWER, ADA)


async def test_hooks_in_claudes_words_read_turn_and_agent_and_no_labels(project: Project) -> None:
    project.script("log.sh", "#!/bin/sh\ncat >> log\n")
    hook = {"type": "command", "command": "$CLAUDE_PROJECT_DIR/log.sh"}
    project.write(
        ".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    )
    hooks = Hooks.load(project.path, claude=True, trusted=True)
    session = hooks.session("s", labels=ADA)
    await act_as(session, turn_id="t-1", agent=RunningAgent(**REVIEWER)).before_tool("Bash", {})
    read = json.loads((project.path / "log").read_text("utf-8"))
    assert (read["prompt_id"], read["agent_id"], read["agent_type"]) == ("t-1", "a-2", "reviewer")
    assert not {"labels", "turn_id", "agent"} & read.keys()
