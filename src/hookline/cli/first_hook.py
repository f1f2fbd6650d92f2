"""The files of a first hook: one script an event and a language, and the tests that show it off.

They are ``first_hooks/<event>.sh``, ``.py`` and ``.hooktest.json``, in which NAME is the hook's.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.wire import codec
from hookline.wire.events import HookEventName

LANGUAGES: dict[str, str] = {"sh": ".sh", "python": ".py"}

_TEMPLATES = os.path.join(os.path.dirname(__file__), "first_hooks")
# Event -> what a hook of it is called unless it is given a name, and the tools that it is for.
_EVENTS: dict[HookEventName, tuple[str, str | None]] = {
    HookEventName.BEFORE_TOOL: ("guard", "run_shell_command|write_file|replace"),
    HookEventName.AFTER_TOOL: ("after-edit", "write_file|replace"),
    HookEventName.BEFORE_AGENT: ("prompt-check", None),
    HookEventName.AFTER_AGENT: ("finish", None),
    HookEventName.BEFORE_MODEL: ("request-check", None),
    HookEventName.AFTER_MODEL: ("answer-check", None),
    HookEventName.BEFORE_TOOL_SELECTION: ("read-only", None),
    HookEventName.SESSION_START: ("welcome", None),
    HookEventName.SESSION_END: ("goodbye", None),
    HookEventName.PRE_COMPRESS: ("compression", None),
    HookEventName.NOTIFICATION: ("notify", None),
}


class FirstHook(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be made: paths are those in the project, ``fire`` the words of a command that
    shows it at work."""

    name: str
    event: HookEventName
    script: str
    script_text: bytes
    test: str
    test_text: bytes
    fire: tuple[str, ...]

    def additions(self) -> dict[str, Any]:
        """What the settings lack."""
        hook = {
            "type": "command",
            "name": self.name,
            "command": f"$HOOKLINE_PROJECT_DIR/{self.script}",
            "timeout": 5000,
            **({"warm": True} if self.script.endswith(".py") else {}),
        }
        matcher = _EVENTS[self.event][1]
        definition = {"matcher": matcher} if matcher is not None else {}
        return {"hooks": {self.event.value: [{**definition, "hooks": [hook]}]}}


def first_hook(event: HookEventName, language: str, name: str | None) -> FirstHook:
    """The first hook of an event."""
    name = name or _EVENTS[event][0]
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event.value).lower()
    suffix = LANGUAGES[language]
    test = _template(f"{stem}.hooktest.json").replace(b'"NAME"', codec.encode(name))
    return FirstHook(
        name=name,
        event=event,
        script=f".hookline/hooks/{name}{suffix}",
        script_text=_template(stem + suffix),
        test=f".hookline/tests/{name}.hooktest.json",
        test_text=test,
        fire=_fire(event, codec.decode(test)),
    )


def _template(name: str) -> bytes:
    with open(os.path.join(_TEMPLATES, name), "rb") as file:
        return file.read()


def _fire(event: HookEventName, tests: Mapping[str, Any]) -> tuple[str, ...]:
    """The event of the first test, fired by hand and traced."""
    test = {**tests, **tests.get("tests", [{}])[0]}
    words = ["HOOKLINE_TRACE=1", "hookline", "fire", event.value]
    if "tool" in test:
        words += ["--tool", test["tool"], "--tool-input", _json(test["tool_input"])]
    payload = {**tests.get("input", {}), **test.get("input", {})}
    if payload:
        words += ["--input", _json(payload)]
    return tuple(words)


def _json(value: object) -> str:
    return codec.encode(value).decode()


def command_lines(words: Sequence[str], *, width: int | None) -> Iterator[str]:
    """A command in lines that a shell puts together again, broken where they would not fit."""
    line = ""
    for piece, glue in _pieces(words):
        if width is not None and line and len(line) + len(piece) + 2 > width:
            # Inside of quotes a new line is white space between two members of an object.
            yield f"{line}\\" if line.endswith(" ") else line
            line = ""
        line += piece + glue
    yield line.rstrip()


def _pieces(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stays on one line, and what follows it there: a blank, nothing within a word."""
    for word in words:
        *first, last = shlex.quote(word).replace(',"', ',\0"').split("\0")
        yield from ((piece, "") for piece in first)
        yield last, " "
