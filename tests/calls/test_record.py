"""A call that was written down is taken up as hooks saw it, and as nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline import DebugLogger, Hooks, HookSession, add_context, ask, combine, deny, rewrite
from hookline.dialects.claude.events import ClaudeEventName
from tests.harness.scratch import Project

PUSH = {"command": "git push"}
ADA = {"user": "ada"}


class Guarded:
    """Hooks that ask about every call of the shell, count what they ask, and warn."""

    def __init__(self, reply: Any = None, **options: Any) -> None:
        self.asked = 0
        self.after: list[dict[str, Any]] = []
        self.told: list[str] = []
        self._reply = ask("sure?") if reply is None else reply
        self.hooks = Hooks(debug_logger=DebugLogger(warn=self.told.append), **options)
        self.hooks.on("BeforeTool", matcher="^shell$", name="asks")(self.answer)
        self.hooks.on("AfterTool", name="sees")(lambda event: self.after.append({**event}))

    def answer(self, _event: dict[str, Any]) -> Any:
        self.asked += 1
        return self._reply

    @property
    def session(self) -> HookSession:
        return self.hooks.session("chat-7", labels=ADA)

    async def write(self, **options: Any) -> dict[str, Any]:
        gate = await self.session.tool_gate("shell", PUSH, ask_later=True, **options)
        written: dict[str, Any] = json.loads(json.dumps(gate.write_record()))
        return written


async def test_a_call_waits_for_its_answer_and_is_refused_until_then() -> None:
    gate = await Guarded().session.tool_gate("shell", PUSH, ask_later=True)
    assert gate.question is not None
    assert (gate.question.tool_name, gate.question.tool_input) == ("shell", PUSH)
    assert gate.question.reason == "sure?"
    assert gate.refusal is not None
    assert "waits for the user's decision: sure?" in gate.refusal.llm_content


@pytest.mark.parametrize("approved", [True, False])
async def test_another_process_takes_it_up_without_running_hooks_again(approved: bool) -> None:
    record = await Guarded(combine(ask("sure?"), rewrite(remote="origin"))).write(call_id="call-1")
    there = Guarded()
    gate = await there.session.resume_gate(record, "shell", PUSH, approved=approved)
    assert (there.asked, there.told, gate.question) == (0, [], None)
    if not approved:
        assert gate.refusal is not None
        assert "The user did not allow this call of shell: sure?" in gate.refusal.llm_content
        return
    assert gate.refusal is None
    assert gate.input == {**PUSH, "remote": "origin"}
    outcome = await gate.finish(result="pushed")
    assert outcome.result.llm_content == "pushed"
    [after] = there.after
    assert after["original_tool_input"] == PUSH


async def test_what_hooks_added_is_in_the_result_all_the_same() -> None:
    record = await Guarded(combine(ask("sure?"), add_context("mind the branch"))).write()
    gate = await Guarded().session.resume_gate(record, "shell", PUSH, approved=True)
    assert "mind the branch" in (await gate.finish(result="pushed")).result.llm_content


def test_code_that_does_not_await_has_the_same() -> None:
    here, there = Guarded(), Guarded()
    gate = here.session.sync.tool_gate("shell", PUSH, ask_later=True)
    assert gate.question is not None
    record = json.loads(json.dumps(gate.write_record()))
    resumed = there.session.sync.resume_gate(record, "shell", PUSH, approved=True)
    assert (resumed.refusal, there.asked) == (None, 0)
    assert resumed.finish(result="ok").result.llm_content == "ok"


async def test_another_input_is_a_new_call_that_nobody_has_approved() -> None:
    record, there = await Guarded().write(), Guarded()
    other = {"command": "git push --force"}
    gate = await there.session.resume_gate(record, "shell", other, approved=True)
    assert there.asked == 1
    assert gate.refusal is not None
    assert gate.question is not None
    assert gate.question.tool_input == other
    [warning] = there.told
    assert "the input is another one" in warning


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tool_name": "mail"}, "it is about mail"),
        ({"mcp_context": {"server_name": "x"}}, "it is about shell"),
        ({"tool_input": {"command": "git pull"}}, "the input is another one"),
        ({"tool_input": {"command": "git push", "n": True}}, "the input is another one"),
        ({"version": 2}, "another version"),
        ({"answered": "allow"}, "it cannot be read"),
        ({"circumstances": None}, "it cannot be read"),
    ],
)
async def test_a_record_that_was_changed_does_not_hold(changes: dict[str, Any], why: str) -> None:
    record, there = {**await Guarded().write(), **changes}, Guarded()
    gate = await there.session.resume_gate(record, "shell", PUSH, approved=True)
    assert (there.asked, gate.refusal is not None) == (1, True)
    assert why in there.told[0]


async def test_it_holds_in_its_session_and_for_its_user_alone() -> None:
    record, there = await Guarded().write(), Guarded()
    sessions = {
        "another session": there.hooks.session("chat-8", labels=ADA),
        "other labels": there.hooks.session("chat-7", labels={"user": "eve"}),
    }
    for why, session in sessions.items():
        there.told.clear()
        gate = await session.resume_gate(record, "shell", PUSH, approved=True)
        assert gate.refusal is not None
        assert why in there.told[0]


async def test_new_rules_are_asked_before_an_old_approval_counts() -> None:
    record = await Guarded().write()
    there = Guarded()
    there.hooks.on("BeforeTool", name="new rule")(lambda _event: deny("no pushes today"))
    gate = await there.session.resume_gate(record, "shell", PUSH, approved=True)
    assert gate.refusal is not None
    assert "no pushes today" in gate.refusal.llm_content
    assert "the hooks in force have changed" in there.told[0]


async def test_a_changed_script_is_another_rule(project: Project) -> None:
    script = project.script("ask.sh", '#!/bin/sh\necho \'{"decision": "ask", "reason": "1"}\'\n')
    hook = {"type": "command", "command": str(script)}
    made = [
        Hooks(working_dir=project.path, hooks={"BeforeTool": [{"hooks": [hook]}]}).session("s")
        for _ in range(2)
    ]
    gate = await made[0].tool_gate("shell", PUSH, ask_later=True)
    record = gate.write_record()
    script.write_text('#!/bin/sh\necho \'{"decision": "ask", "reason": "2"}\'\n')
    resumed = await made[1].resume_gate(record, "shell", PUSH, approved=True)
    assert resumed.question is not None
    assert resumed.question.reason == "2"


async def test_an_input_that_hooks_saw_in_part_is_always_a_new_call() -> None:
    here = Guarded()
    odd: Any = {"command": object()}
    gate = await here.session.tool_gate("shell", odd, ask_later=True)
    resumed = await here.session.resume_gate(gate.write_record(), "shell", odd, approved=True)
    assert resumed.refusal is not None
    assert here.asked == 2


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_that_nobody_asked_about_can_be_written_down_too(approved: bool) -> None:
    here, there = Guarded(rewrite(remote="origin")), Guarded()
    record = await here.write()
    gate = await there.session.resume_gate(record, "shell", PUSH, approved=approved)
    assert (gate.refusal is None, there.asked) == (approved, 0)
    assert gate.input["remote"] == "origin"


async def test_a_denial_stays_one_whatever_the_user_says() -> None:
    record = await Guarded(deny("never")).write()
    gate = await Guarded().session.resume_gate(record, "shell", PUSH, approved=True)
    assert gate.refusal is not None
    assert gate.refusal.llm_content == "never"


async def test_hooks_that_answer_for_the_user_leave_no_question(project: Project) -> None:
    answer = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    text = json.dumps({"hookSpecificOutput": answer})
    script = project.script("allow.sh", f"#!/bin/sh\necho '{text}'\n")
    hooks = {ClaudeEventName.PERMISSION_REQUEST.value: [{"hooks": [command(script)]}]}
    project.write(".claude/settings.json", json.dumps({"hooks": hooks}))
    loaded = Hooks.load(project.path, claude=True, trusted=True)
    loaded.on("BeforeTool")(lambda _event: ask("sure?"))
    gate = await loaded.session("s").tool_gate("shell", PUSH, ask_later=True)
    assert (gate.question, gate.refusal) == (None, None)


def command(script: Path) -> dict[str, Any]:
    return {"type": "command", "command": str(script)}
