"""A question that is answered hours later, in another process.

``python ask_later.py push`` is the agent: a hook wants a person asked about the call, so the agent
writes the call down and ends. ``python ask_later.py yes`` (or ``no``) is the person's answer, on
another day and perhaps on another machine: the call is taken up, and the hooks do not run again.
"""

import json
import sys
from pathlib import Path

from hookline import BeforeToolEvent, Hooks, HookSession, Reply, ask

PENDING = Path("pending.json")  # or a row of your database
COUNTER = Path("pushes.txt")

hooks = Hooks()


@hooks.on("BeforeTool", matcher="^git$")
def ask_about_pushes(event: BeforeToolEvent) -> Reply | None:
    if event["tool_input"]["command"] != "push":
        return None
    pushes = int(COUNTER.read_text()) + 1 if COUNTER.exists() else 1
    COUNTER.write_text(str(pushes))
    return ask(f"push number {pushes} leaves this machine")


def git(command: str) -> str:
    return f"done: git {command}"


def open_session() -> HookSession:
    # The same id in both processes: a decision holds in the session in which it was asked for.
    return hooks.session("chat-7", labels={"user": "ada"})


def call_tool(command: str) -> str:
    """The model calls the tool."""
    tool_input = {"command": command}
    gate = open_session().sync.tool_gate("git", tool_input, ask_later=True)
    if gate.question is not None:
        PENDING.write_text(json.dumps(gate.write_record()))
        return f"waiting: {gate.question.reason}"
    if gate.refusal is not None:
        return str(gate.refusal.llm_content)
    return str(gate.finish(result=git(**gate.input)).result.llm_content)


def decide(*, approved: bool) -> str:
    """A person has decided about the call that waits."""
    record = json.loads(PENDING.read_text())
    PENDING.unlink()  # a decision counts once
    name, tool_input = record["tool_name"], record["tool_input"]
    gate = open_session().sync.resume_gate(record, name, tool_input, approved=approved)
    if gate.question is not None:  # the rules have changed since: ask about the new answer
        PENDING.write_text(json.dumps(gate.write_record()))
        return f"waiting: {gate.question.reason}"
    if gate.refusal is not None:
        return str(gate.refusal.llm_content)
    return str(gate.finish(result=git(**gate.input)).result.llm_content)


word = sys.argv[1]
print(decide(approved=word == "yes") if word in ("yes", "no") else call_tool(word))
