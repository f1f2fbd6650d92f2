"""One run of a scenario: what a harness gets to play, and what was observed."""

from collections.abc import Awaitable, Callable, Sequence
from threading import Lock
from typing import Any

import msgspec

from hookline.calls.tool import ConfirmationRequest
from hookline.hooks import Hooks

# Shorter than the texts that hooks look for, so that a hook that sees single pieces finds nothing.
_PIECE = 6
DISK_FULL = "the disk is full"
# The tool that runs another agent, and the name of that agent.
DELEGATE, HELPER = "delegate", "helper"


class Call(msgspec.Struct, frozen=True):
    """A tool call that the model makes, or one that ran."""

    name: str
    args: dict[str, Any]
    id: str = ""


class Reply(msgspec.Struct, frozen=True):
    """What the model says: a text, tool calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def pieces(self) -> list[str]:
        """The text as a stream yields it."""
        return [self.text[at : at + _PIECE] for at in range(0, len(self.text), _PIECE)]


class Message(msgspec.Struct, frozen=True):
    """A text that the model was sent; ``role`` is user, model, system, or tool for a result."""

    role: str
    text: str


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool to offer; ``function`` and ``coroutine`` do the same and note that they ran."""

    name: str
    description: str
    schema: dict[str, Any]
    function: Callable[..., str]
    coroutine: Callable[..., Awaitable[str]]


class Observed(msgspec.Struct, kw_only=True):
    """What happened in a run: the texts that a user saw in pieces and at the end of each turn, the
    messages and the tools' names of each model call, the tool calls that really ran, the questions
    that the user was asked, the events that hooks were given, and what was raised."""

    mode: str
    session_id: str
    shown: list[str] = msgspec.field(default_factory=list)
    answers: list[str] = msgspec.field(default_factory=list)
    requests: list[list[Message]] = msgspec.field(default_factory=list)
    offered: list[list[str]] = msgspec.field(default_factory=list)
    ran: list[Call] = msgspec.field(default_factory=list)
    questions: list[str] = msgspec.field(default_factory=list)
    events: list[dict[str, Any]] = msgspec.field(default_factory=list)
    error: BaseException | None = None

    @property
    def seen(self) -> str:
        """All that the user saw. Pieces are also joined, to find a word that spans two of them."""
        return "\n".join(["".join(self.shown), *self.shown, *self.answers])

    @property
    def answer(self) -> str:
        """The final text of the last turn."""
        return self.answers[-1] if self.answers else ""

    @property
    def streams(self) -> bool:
        """True if this mode is a stream."""
        return "stream" in self.mode

    def sent(self, number: int, *, role: str | None = None) -> str:
        """The text sent to the model in a call, counted from 0; "" if there was no such call."""
        if not -len(self.requests) <= number < len(self.requests):
            return ""
        texts = (m.text for m in self.requests[number] if role in (None, m.role))
        return "\n".join(texts)

    def inputs(self, name: str) -> list[dict[str, Any]]:
        """The inputs that a tool ran with."""
        return [call.args for call in self.ran if call.name == name]

    def fired(self, event: str) -> list[dict[str, Any]]:
        """The events of one name that hooks were given."""
        return [given for given in self.events if given["hook_event_name"] == event]


class Run:
    """A scenario to play in one mode; the module's docstring says what a harness does with it."""

    def __init__(
        self,
        hooks: Hooks,
        observed: Observed,
        *,
        prompts: Sequence[str],
        replies: Sequence[Reply],
        approves: bool = False,
        compresses: bool = False,
        delegates: bool = False,
    ) -> None:
        self.hooks = hooks
        self.mode = observed.mode
        self.session_id = observed.session_id
        self.prompts = tuple(prompts)
        self.compresses = compresses
        self.delegates = delegates
        self.observed = observed
        self.tools = _make_tools(observed)
        self._approves = approves
        self._replies = iter(replies)
        self._lock = Lock()
        self._calls = 0

    @property
    def streams(self) -> bool:
        """True if this mode is a stream."""
        return self.observed.streams

    def next_reply(self, messages: Sequence[Message], tools: Sequence[str]) -> Reply:
        """The model's reply to this call; each tool call has an id of its own. After the last reply
        of the script the model says "Nothing."."""
        with self._lock:
            self.observed.requests.append([*messages])
            self.observed.offered.append([*tools])
            reply = next(self._replies, Reply("Nothing."))
            first, self._calls = self._calls, self._calls + len(reply.calls)
            calls = [
                msgspec.structs.replace(call, id=f"call-{number}")
                for number, call in enumerate(reply.calls, first)
            ]
            return Reply(reply.text, tuple(calls))

    def show(self, text: str) -> None:
        """Note that the user sees a text, or a piece of one."""
        self.observed.shown.append(text)

    def finish(self, text: str) -> None:
        """Note that a turn is over, with its final text."""
        self.observed.answers.append(text)

    def approve(self, question: str) -> bool:
        """Ask the user of the scenario; ``question`` is all that the user can read."""
        self.observed.questions.append(question)
        return self._approves

    def confirm(self, request: ConfirmationRequest) -> bool:
        """``approve`` as the ``confirm`` of hookline."""
        return self.approve(f"{request.tool_name} {request.tool_input}: {request.reason}")


def _make_tools(observed: Observed) -> list[Tool]:
    def shell(command: str) -> str:
        """Run a command."""
        observed.ran.append(Call("shell", {"command": command}))
        if command == "fill":
            raise OSError(DISK_FULL)
        return f"output of {command}"

    async def shell_async(command: str) -> str:
        """Run a command."""
        return shell(command)

    def mail(to: str, text: str) -> str:
        """Send a mail."""
        observed.ran.append(Call("mail", {"to": to, "text": text}))
        return f"sent to {to}"

    async def mail_async(to: str, text: str) -> str:
        """Send a mail."""
        return mail(to, text)

    # Frameworks name a tool after its function.
    shell_async.__name__, mail_async.__name__ = "shell", "mail"
    return [
        _make_tool(shell, shell_async, "Run a command.", "command"),
        _make_tool(mail, mail_async, "Send a mail.", "to", "text"),
    ]


def _make_tool(
    function: Callable[..., str],
    coroutine: Callable[..., Awaitable[str]],
    description: str,
    *fields: str,
) -> Tool:
    schema = {
        "type": "object",
        "properties": {field: {"type": "string"} for field in fields},
        "required": [*fields],
    }
    return Tool(
        name=function.__name__,
        description=description,
        schema=schema,
        function=function,
        coroutine=coroutine,
    )
