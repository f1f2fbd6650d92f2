"""Writes a conversation for hooks that read ``transcript_path``: JSON Lines, one content block per
line, tools under the names of the dialect whose hooks read it."""

import os
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from hookline._support.notices import warn
from hookline.dialects import TRANSCRIPTS, load_foreign
from hookline.dialects.tools import ToolAlias
from hookline.errors import HooklineError
from hookline.wire import codec


class TranscriptWriter:
    """A transcript at ``path``, which is created with its folder, readable by its owner only; an
    existing one is continued. Each line is written when its method returns, so that the hooks of
    the next event read it. If writing fails, that is logged once, and the conversation goes on.

    Tools have the names of that dialect; ``tools`` declares the host's tools that it does not have.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session_id: str,
        cwd: str | os.PathLike[str],
        tools: Mapping[str, ToolAlias] | None = None,
    ) -> None:
        self.path: str = os.path.abspath(path)
        self._session_id = session_id
        self._cwd = os.path.abspath(cwd)
        self.tools = tools
        self._parent: str | None = None
        self._is_broken = False

    def add_text(self, role: Literal["user", "assistant"], text: str) -> None:
        """Add what the user or the model said."""
        self._append_block(role, {"type": "text", "text": text})

    def add_call(self, id: str, name: str, tool_input: Mapping[str, Any]) -> None:
        """Add a tool call of the model."""
        try:
            dialect = load_foreign(TRANSCRIPTS)
            worded = dialect.show_call(name, tool_input, tools=self.tools, cwd=self._cwd)
            name, tool_input = worded.name, worded.input
        except HooklineError:
            # It is not clear which of two fields is meant, so the input stays as it is.
            pass
        call = {"type": "tool_use", "id": id, "name": name, "input": codec.show(tool_input).value}
        self._append_block("assistant", call)

    def add_result(self, call_id: str, text: str, *, is_error: bool = False) -> None:
        """Add a tool's result; ``text`` is what the model reads."""
        result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        self._append_block("user", {**result, "is_error": True} if is_error else result)

    def _append_block(self, role: Literal["user", "assistant"], block: Mapping[str, Any]) -> None:
        line = {
            "parentUuid": self._parent,
            "uuid": str(uuid.uuid4()),
            "type": role,
            "message": {"role": role, "content": [block]},
            "sessionId": self._session_id,
            "cwd": self._cwd,
            "timestamp": codec.timestamp(),
        }
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o600)
            with open(descriptor, "ab") as file:
                file.write(codec.encode(line) + b"\n")
        except OSError as error:
            if not self._is_broken:
                self._is_broken = True
                warn(f"cannot write the transcript: {error}")
            return
        self._parent, self._is_broken = str(line["uuid"]), False
