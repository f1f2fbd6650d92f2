"""One complete example for each event: settings, a hook, an event to fire, and the result.

The screen below an example is what the command printed here; the suite runs it again with the
other documents.
"""

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hookline import Hooks
from hookline.cli import main
from hookline.wire.events import HookEventName
from tools.reference.markdown import fence, format_json

SESSION = "0b6f2c1e-5d0a-4a57-9c44-2f6f0d1c9a3e"
TIMESTAMP = "2026-01-31T09:30:00.000Z"
FOLDER = "/home/ann/shop"
_COLUMNS = 90


class Example(NamedTuple):
    """A hook on one event, and an event that it answers."""

    tells: str
    name: str
    script: str
    input: dict[str, Any]
    means: str
    matcher: str | None = None
    hook: Mapping[str, Any] = MappingProxyType({})
    # Input that is too long for --input is in a file.
    file: str = ""

    def settings(self, event: HookEventName) -> str:
        hook = {"type": "command", "name": self.name, "command": f"python3 {self.script_file}"}
        matched = {} if self.matcher is None else {"matcher": self.matcher}
        return format_json(
            {"hooks": {event.value: [{**matched, "hooks": [{**hook, **self.hook}]}]}}
        )

    @property
    def script_file(self) -> str:
        return f"hooks/{self.name.replace('-', '_')}.py"

    def arguments(self, event: HookEventName) -> list[str]:
        words = [event.value, "--trust"]
        if self.file:
            return [*words, "--input", f"@{self.file}"]
        fields = dict(self.input)
        if event is HookEventName.BEFORE_TOOL:
            words += ["--tool", fields.pop("tool_name")]
            words += ["--tool-input", format_json(fields.pop("tool_input"), width=1000)]
        return [*words, "--input", format_json(fields, width=1000)] if fields else words


def show_example(event: HookEventName) -> str:
    """The example as blocks that the suite runs: settings, hook, command, screen."""
    example = EXAMPLES[event]
    words = [f"'{word}'" if re.search(r"[{ ]", word) else word for word in example.arguments(event)]
    blocks = [
        example.tells,
        fence("jsonc file=.hookline/settings.json", example.settings(event)),
        fence(f"python file={example.script_file}", example.script),
    ]
    if example.file:
        blocks.append(fence(f"json file={example.file}", format_json(example.input)))
    command = f"hookline fire {' '.join(words)}; echo $?"
    if len(command) > _COLUMNS:
        command = command.replace(" --tool-input ", " \\\n>     --tool-input ")
    blocks += [fence("console", f"$ {command}\n{_run(event, example)}"), example.means]
    return "\n\n".join(blocks)


def read_document(event: HookEventName) -> dict[str, Any]:
    """The document that a hook reads for the example's event, with a fixed time."""
    read: list[dict[str, Any]] = []
    with Hooks(session_id=SESSION, working_dir=FOLDER) as hooks:

        @hooks.on(event.value, name="reader")
        def keep(document: dict[str, Any]) -> None:
            read.append(document)

        hooks.sync.fire(event, EXAMPLES[event].input)
    return {**read[0], "timestamp": TIMESTAMP}


@contextlib.contextmanager
def _example_project(event: HookEventName, example: Example) -> Iterator[None]:
    """Write the example's files to a folder of their own, without the user's settings."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        _environment(HOME=folder, XDG_CONFIG_HOME="", XDG_STATE_HOME=""),
    ):
        files = {
            ".hookline/settings.json": example.settings(event),
            example.script_file: example.script,
        }
        if example.file:
            files[example.file] = format_json(example.input)
        for name, text in files.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text.strip("\n") + "\n", encoding="utf-8")
        yield


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = dict(os.environ)
    kept = {name: value for name, value in before.items() if not name.startswith("HOOKLINE_")}
    try:
        os.environ.clear()
        os.environ.update({**kept, **variables})
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(event: HookEventName, example: Example) -> str:
    """Run the command; return what it prints, and its exit status."""
    screen = io.StringIO()
    with _example_project(event, example):
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            status = main(["fire", *example.arguments(event)])
        printed = screen.getvalue().replace(os.path.realpath("."), "~/project")
    return re.sub(r"\b\d+(\.\d+)? ?(µs|ms|s)\b", "20 ms", printed) + str(status)


def fire_example(event: HookEventName) -> dict[str, Any]:
    """The document that ``fire --json`` prints for the example."""
    example, printed = EXAMPLES[event], io.StringIO()
    with (
        _example_project(event, example),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        main(["fire", *example.arguments(event), "--json"])
    document: dict[str, Any] = json.loads(printed.getvalue())
    return document


_REQUEST: dict[str, Any] = {
    "model": "gemini-flash-latest",
    "messages": [
        {"role": "system", "content": "You are the shop's assistant."},
        {"role": "user", "content": "Which card did ann@example.com pay with?"},
    ],
    "config": {"temperature": 0.7, "maxOutputTokens": 1024, "stopSequences": ["END"]},
    "toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["read_file", "run_shell_command"]},
}

EXAMPLES: dict[HookEventName, Example] = {
    HookEventName.BEFORE_TOOL: Example(
        "A hook that lets no shell command delete a folder, and says what to do instead.",
        "no-rm",
        """
import json
import sys

event = json.load(sys.stdin)
command = event["tool_input"].get("command", "")
if "rm -rf" in command:
    reason = f"{command!r} deletes for good; move it to .trash instead"
    print(json.dumps({"decision": "deny", "reason": reason}))
""",
        {"tool_name": "run_shell_command", "tool_input": {"command": "rm -rf build"}},
        "The status 2 says that the tool must not run. The model reads the reason as the tool's "
        'result. With `{"hookSpecificOutput": {"tool_input": {"command": "mv build .trash/"}}}` '
        "the hook would have the tool run with another command instead.",
        matcher="run_shell_command",
        hook={"onFailure": "block"},
    ),
    HookEventName.AFTER_TOOL: Example(
        "A hook that takes keys out of what a tool has found, before the model reads it.",
        "hide-keys",
        """
import json
import re
import sys

event = json.load(sys.stdin)
text = event["tool_response"]["llmContent"]
hidden = re.sub(r"AKIA[0-9A-Z]{16}", "[key]", text)
if hidden != text:
    print(json.dumps({"hookSpecificOutput": {"updatedToolOutput": hidden}}))
""",
        {
            "tool_name": "read_file",
            "tool_input": {"file_path": ".env"},
            "tool_response": {
                "llmContent": "AWS_KEY=AKIA0123456789ABCDEF",
                "returnDisplay": "read 1 line",
            },
        },
        "The tool has run; the model reads the changed text as its result.",
        matcher="read_file|run_shell_command",
        file="event.json",
    ),
    HookEventName.BEFORE_AGENT: Example(
        "A hook that adds a house rule to every prompt.",
        "house-rules",
        """
import json
import sys

event = json.load(sys.stdin)
rule = "Prices are in cents, never in floats."
if "price" in event["prompt"].lower():
    print(json.dumps({"hookSpecificOutput": {"additionalContext": rule}}))
""",
        {"prompt": "Add a price to the item"},
        "The model reads the added text beside the prompt.",
    ),
    HookEventName.AFTER_AGENT: Example(
        "A hook that sends the agent back to work once if it did not run the tests.",
        "tests-first",
        """
import json
import sys

event = json.load(sys.stdin)
if not event["stop_hook_active"] and "tests pass" not in event["prompt_response"]:
    print(json.dumps({"decision": "block", "reason": "run the tests, then tell me how they went"}))
""",
        {
            "prompt": "Fix the tax",
            "prompt_response": "I fixed the tax of books.",
            "stop_hook_active": False,
        },
        "The reason becomes the agent's next prompt. `stop_hook_active` is true the second time, "
        "so that the turn can end.",
        file="event.json",
    ),
    HookEventName.BEFORE_MODEL: Example(
        "A hook that takes mail addresses out of what is sent to the model.",
        "hide-addresses",
        """
import json
import re
import sys

request = json.load(sys.stdin)["llm_request"]
messages = [
    {**message, "content": re.sub(r"\\S+@\\S+", "[address]", message["content"])}
    for message in request["messages"]
]
if messages != request["messages"]:
    print(json.dumps({"hookSpecificOutput": {"llm_request": {"messages": messages}}}))
""",
        {"llm_request": _REQUEST},
        "The model is called with the changed messages; model, config and tools stay as they were. "
        'With `{"hookSpecificOutput": {"llm_response": {"text": "…"}}}` the hook would answer in '
        "the model's place, and with a `decision` of `deny` the model is not called.",
        file="event.json",
    ),
    HookEventName.AFTER_MODEL: Example(
        "A hook that takes card numbers out of what the model answers.",
        "hide-cards",
        """
import json
import re
import sys

text = json.load(sys.stdin)["llm_response"].get("text", "")
hidden = re.sub(r"\\b\\d{4}(?:[ -]?\\d{4}){3}\\b", "[card]", text)
if hidden != text:
    print(json.dumps({"hookSpecificOutput": {"llm_response": {"text": hidden}}}))
""",
        {
            "llm_request": _REQUEST,
            "llm_response": {
                "text": "She paid with 4111 1111 1111 1111.",
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": ["She paid with 4111 1111 1111 1111."],
                        },
                        "finishReason": "STOP",
                        "index": 0,
                        "safetyRatings": [
                            {
                                "category": "HARM_CATEGORY_DANGEROUS_CONTENT",
                                "probability": "NEGLIGIBLE",
                            }
                        ],
                    }
                ],
                "usageMetadata": {
                    "promptTokenCount": 31,
                    "candidatesTokenCount": 14,
                    "totalTokenCount": 45,
                },
            },
        },
        "The agent goes on with the changed response; calls of tools in it stay as they are.",
        file="event.json",
    ),
    HookEventName.BEFORE_TOOL_SELECTION: Example(
        "A hook that leaves the model only tools that read.",
        "read-only",
        """
import json
import sys

event = json.load(sys.stdin)
names = [name for name in event.get("available_tools", []) if name.startswith("read_")]
tools = {"mode": "AUTO", "allowedFunctionNames": names}
print(json.dumps({"hookSpecificOutput": {"toolConfig": tools}}))
""",
        {"llm_request": _REQUEST, "available_tools": ["read_file", "run_shell_command"]},
        "The model may call only these tools in this call. Several hooks can only narrow the list: "
        "what one of them leaves out stays out.",
        file="event.json",
    ),
    HookEventName.SESSION_START: Example(
        "A hook that tells the model about the project, and sets a variable for its tools.",
        "project-facts",
        """
import json
import sys

json.load(sys.stdin)
facts = "Run the tests with: make test"
answer = {"additionalContext": facts, "exports": {"SHOP_ENV": "test"}}
print(json.dumps({"hookSpecificOutput": answer}))
""",
        {"source": "startup"},
        "The text is part of what the model reads from now on, and commands that the agent runs in "
        "this session find the variable.",
        matcher="startup|resume",
    ),
    HookEventName.SESSION_END: Example(
        "A hook that writes down when a session ended, and tells the user where.",
        "log-end",
        """
import json
import sys

event = json.load(sys.stdin)
with open("sessions.log", "a", encoding="utf-8") as log:
    log.write(f"{event['timestamp']} {event['session_id']} {event['reason']}\\n")
print(json.dumps({"systemMessage": "the session is in sessions.log"}))
""",
        {"reason": "exit"},
        "Nothing can be blocked any more; the message is shown to the user.",
    ),
    HookEventName.PRE_COMPRESS: Example(
        "A hook that keeps the history as it is when nobody asked for a compression.",
        "keep-history",
        """
import json
import sys

event = json.load(sys.stdin)
if event["trigger"] == "auto":
    print(json.dumps({"hookSpecificOutput": {"keepHistory": True}}))
""",
        {"trigger": "auto"},
        "An agent that can go on without a compression does; `decision` has no effect here.",
        matcher="auto",
    ),
    HookEventName.NOTIFICATION: Example(
        "A hook that hands questions for a person on to a file that another program watches.",
        "page-me",
        """
import json
import sys

event = json.load(sys.stdin)
with open("questions.log", "a", encoding="utf-8") as log:
    log.write(event["message"] + "\\n")
print(json.dumps({"hookSpecificOutput": {"userMessage": "somebody was paged"}}))
""",
        {
            "message": "Allow run_shell_command?",
            "notification_type": "ToolPermission",
            "level": "info",
            "details": {"type": "exec", "command": "git push"},
        },
        "The user sees the text; the model does not.",
        matcher="ToolPermission",
        file="event.json",
    ),
}
