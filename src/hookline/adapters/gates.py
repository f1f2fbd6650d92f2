"""What all adapters share: the hooks of each conversation, and the gates of a tool call, a model
call and a turn.

An adapter is written once, as coroutines over a ``Face``: ``Conversation.face`` is for callers that
await; the coroutines of ``Conversation.blocking`` never suspend, so that ``complete`` can run them.
"""

import json
import os
import re
from collections import OrderedDict
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any, TypeAlias

import msgspec

from hookline._support.notices import warn
from hookline.calls.model import ModelGate as ModelGate
from hookline.calls.model import ModelOutcome as ModelOutcome
from hookline.calls.model import describe_refused_call as describe_refused_call
from hookline.calls.question import describe_command, tool_notification
from hookline.calls.tool import ConfirmationRequest
from hookline.calls.tool import ToolGate as ToolGate
from hookline.calls.tool import ToolOutcome as ToolOutcome
from hookline.calls.tool import complete as complete
from hookline.contract import Config
from hookline.hooks import Face, Hooks, HookSession
from hookline.pipeline.answer import most_sent_back
from hookline.wire.codec import show
from hookline.wire.events import SessionStartSource

Given: TypeAlias = HookSession | Config | str | os.PathLike[str] | None

# How many conversations an adapter remembers. It forgets the one that was unused for longest, which
# starts again when it goes on.
_MOST_CONVERSATIONS = 10_000


def check_version(package: str, extra: str, oldest: str, untested: str) -> None:
    """Raise ImportError if a framework is not installed or is older than the adapter needs; warn
    about a release that the adapter was not tested with."""
    try:
        found = version(package)
    except PackageNotFoundError:
        found = None
    if found is None or _read_numbers(found) < _read_numbers(oldest):
        raise ImportError(
            f"hookline's adapter needs {package} {oldest} or newer, but {found or 'none'} is "
            f"installed; run pip install 'hookline[{extra}]'"
        ) from None
    if _read_numbers(found) >= _read_numbers(untested):
        warn(
            f"hookline's adapter was tested with {package} {oldest} up to {untested} (exclusive), "
            f"but {found} is installed; check that your hooks still run"
        )


def _read_numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release)[:3])


class Conversation:
    """The hooks of one conversation, and what its turns leave to each other."""

    def __init__(self, hooks: HookSession) -> None:
        self.hooks = hooks
        self._lock = Lock()
        self._has_started = False
        # What hooks want the model to read with the next request.
        self._pending: list[str] = []

    @cached_property
    def face(self) -> Face:
        """The events for callers that await."""
        return Face(self.hooks.view.heard)

    @cached_property
    def blocking(self) -> Face:
        """The events for callers that do not await: its coroutines never suspend."""
        return Face(msgspec.structs.replace(self.hooks.view.heard, blocking=True))

    async def start(
        self, face: Face, source: SessionStartSource | str = SessionStartSource.STARTUP
    ) -> None:
        """Fire SessionStart, once, and keep what its hooks add for the first turn."""
        with self._lock:
            if self._has_started:
                return
            self._has_started = True
        answer = await face.session_start(source)
        for text in answer.texts_for_model:
            self.keep(text)
        if answer.exports:
            face.warn(
                f"SessionStart hooks export {', '.join(answer.exports)}, but an adapter cannot set "
                "variables for the framework's tools; they are ignored"
            )

    async def end(self, face: Face, reason: str = "exit") -> None:
        """Fire SessionEnd, once for each start."""
        with self._lock:
            if not self._has_started:
                return
            self._has_started = False
        await face.session_end(reason)

    def keep(self, text: str) -> None:
        """Keep a text that the model is to read with the next request."""
        with self._lock:
            self._pending.append(text)

    def take(self) -> list[str]:
        """Return the texts that were kept, and forget them."""
        with self._lock:
            taken, self._pending = self._pending, []
        return taken


class Conversations:
    """The conversations of one adapter, each under its own session id.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a ``Config``, a directory whose settings are
    loaded, or None for the working directory's. A session that was given serves all.
    """

    def __init__(self, hooks: Given = None) -> None:
        self._is_own = not isinstance(hooks, HookSession | Config)
        if isinstance(hooks, Config):
            hooks = Hooks.of(hooks)
        self.hooks: HookSession = hooks if isinstance(hooks, HookSession) else Hooks.load(hooks)
        self._lock = Lock()
        self._known: OrderedDict[str | None, Conversation] = OrderedDict()
        self._told: set[str] = set()

    def warn_once(self, message: str) -> None:
        """Warn the user, unless this adapter gave the same warning before."""
        with self._lock:
            is_new = message not in self._told
            self._told.add(message)
        if is_new:
            self.hooks.warn(message)

    def of(self, session_id: str | None, *, transcript_path: str | None = None) -> Conversation:
        """Return the conversation of a session, or without an id that of the hooks themselves.
        ``transcript_path`` is where a new one is recorded."""
        if not isinstance(self.hooks, Hooks):
            session_id = None
        with self._lock:
            known = self._known.get(session_id)
            if known is None:
                hooks = self.hooks
                if isinstance(hooks, Hooks) and session_id is not None:
                    hooks = hooks.session(session_id, transcript_path=transcript_path)
                known = self._known[session_id] = Conversation(hooks)
                if len(self._known) > _MOST_CONVERSATIONS:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(session_id)
            return known

    async def end_all(self, *, blocking: bool) -> None:
        """Fire SessionEnd for every conversation, and close hooks that were loaded here."""
        with self._lock:
            known, self._known = [*self._known.values()], OrderedDict()
        for conversation in known:
            await conversation.end(conversation.blocking if blocking else conversation.face)
        if self._is_own and isinstance(self.hooks, Hooks):
            self.hooks.close()


class CallKey(msgspec.Struct, frozen=True):
    """A tool call as hooks were shown it: the same id with another tool or another input is another
    call, which a model may make to run it behind the gate of the first."""

    id: str
    name: str
    input: str


def key_call(call_id: str | None, name: str, tool_input: Any) -> CallKey:
    """Return the key under which what hooks and users decide about a call is kept."""
    return CallKey(call_id or "", name, write_input(tool_input))


def write_input(tool_input: Any) -> str:
    """Return an input as hooks are shown it, in a form in which equal inputs are equal texts; True
    is not 1 there."""
    return json.dumps(show(tool_input).value, sort_keys=True, separators=(",", ":"))


class TurnStart(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a turn may begin. ``refusal`` is why not; with ``stop`` the loop should end as well.
    ``texts`` are for the model to read beside the prompt."""

    refusal: str | None = None
    stop: bool = False
    texts: tuple[str, ...] = ()


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What to do at the end of a turn: ``send_back`` is the next prompt, where hooks want the
    agent to go on; ``stop`` why the loop should end; ``clear_context`` says that the conversation
    so far is to be forgotten. ``texts`` are for the model to read with its next request."""

    send_back: str | None = None
    stop: str | None = None
    clear_context: bool = False
    texts: tuple[str, ...] = ()


class TurnGate:
    """A turn from BeforeAgent to AfterAgent, and the turns that follow when hooks send it back."""

    def __init__(self, conversation: Conversation, prompt: str, *, sent_back: int = 0) -> None:
        self._conversation = conversation
        self.prompt = prompt
        self.sent_back = sent_back

    async def open(self, face: Face) -> TurnStart:
        """Fire SessionStart if this is the first turn, then BeforeAgent."""
        await self._conversation.start(face)
        before = await face.before_agent(self.prompt)
        if before.blocked:
            return TurnStart(refusal=before.reason or "", stop=before.stopped)
        return TurnStart(texts=(*self._conversation.take(), *before.texts_for_model))

    async def close(self, face: Face, text: str) -> TurnEnd:
        """Fire AfterAgent with what the agent answered. Hooks can send a turn back a few times
        at most; after that the user is warned, and the turn ends."""
        after = await face.after_agent(self.prompt, text, stop_hook_active=self.sent_back > 0)
        send_back = stop = None
        if after.stopped:
            stop = after.reason or ""
        elif after.send_back is not None and self.sent_back >= most_sent_back():
            face.warn(
                f"AfterAgent hooks sent the turn back {self.sent_back} times; it ends here: "
                f"{after.send_back}"
            )
        elif after.send_back is not None:
            self.sent_back += 1
            self.prompt = send_back = after.send_back
        return TurnEnd(
            send_back=send_back,
            stop=stop,
            clear_context=after.clear_context,
            texts=(f"[System] {after.message}",) if after.message else (),
        )


def split_json(text: str) -> tuple[str, dict[str, Any]]:
    """Split a text into what it says and the JSON object at its end, as hooks leave a structured
    answer; raise ValueError if it does not end with one."""
    for place, character in enumerate(text):
        if character == "{":
            try:
                return text[:place], json.loads(text[place:])
            except ValueError:
                continue
    raise ValueError("it does not end with a JSON object")


async def announce_question(face: Face, request: ConfirmationRequest) -> None:
    """Fire Notification for a question that the user is about to be asked."""
    asked: dict[str, object] = {"type": "info", "title": request.tool_name}
    command = request.tool_input.get("command")
    if isinstance(command, str):
        asked |= {"type": "exec", **describe_command(command)}
    else:
        asked["prompt"] = request.reason
    told = tool_notification(asked)
    await face.notification(
        told.message, notification_type=told.notification_type, details=told.details
    )
