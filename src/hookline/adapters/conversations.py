"""The hooks of each conversation of an adapter, under the framework's own id of it."""

import os
import re
from collections import OrderedDict
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TypeAlias

import msgspec

from hookline._support.notices import warn
from hookline.contract import Config
from hookline.hooks import Face, Hooks, HookSession
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
        self._texts: list[str] = []

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

    @property
    def has_texts(self) -> bool:
        """True if texts wait for the model."""
        return bool(self._texts)

    def keep(self, text: str) -> None:
        """Keep a text that the model is to read with the next request."""
        with self._lock:
            self._texts.append(text)

    def take(self) -> list[str]:
        """Return the texts that were kept, and forget them."""
        with self._lock:
            texts, self._texts = self._texts, []
        return texts


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
        self._warnings: set[str] = set()

    def warn_once(self, message: str) -> None:
        """Warn the user, unless this adapter gave the same warning before."""
        with self._lock:
            is_new = message not in self._warnings
            self._warnings.add(message)
        if is_new:
            self.hooks.warn(message)

    def of(self, session_id: str | None, *, transcript_path: str | None = None) -> Conversation:
        """Return the conversation of a session, or without an id that of the hooks themselves.
        ``transcript_path`` is where a new one is recorded."""
        if not isinstance(self.hooks, Hooks):
            session_id = None
        with self._lock:
            conversation = self._known.get(session_id)
            if conversation is None:
                hooks = self.hooks
                if isinstance(hooks, Hooks) and session_id is not None:
                    hooks = hooks.session(session_id, transcript_path=transcript_path)
                conversation = self._known[session_id] = Conversation(hooks)
                if len(self._known) > _MOST_CONVERSATIONS:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(session_id)
            return conversation

    async def end_all(self, *, blocking: bool) -> None:
        """Fire SessionEnd for every conversation, and close hooks that were loaded here."""
        with self._lock:
            known, self._known = [*self._known.values()], OrderedDict()
        for conversation in known:
            await conversation.end(conversation.blocking if blocking else conversation.face)
        if self._is_own and isinstance(self.hooks, Hooks):
            self.hooks.close()
