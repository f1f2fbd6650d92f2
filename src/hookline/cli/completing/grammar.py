"""The verbs with their options and what may follow, read off the parsers that will judge it."""

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Literal, TypeAlias, cast

import msgspec

from hookline.cli.arguments import Verb
from hookline.cli.parsing import parser_of
from hookline.wire.events import HookEventName

Kind: TypeAlias = Literal["words", "hooks", "files", "directories", "input", "other"]

_EVENTS = tuple(event.value for event in HookEventName)
_SHELLS = ("bash", "zsh", "fish")
# What an argument is told by: its metavar, and where that says too little its name.
_KINDS: Mapping[str, Kind] = {
    "FILE": "files",
    "FILE|DIR": "files",
    "DIR": "directories",
    "JSON|@FILE|-": "input",
}
_WORDS: Mapping[str, tuple[str, ...]] = {"event": _EVENTS, "shell": _SHELLS}
_HOOKS = frozenset({("", "name"), ("--hook", "hook")})


class Value(msgspec.Struct, frozen=True):
    """What an argument may be; ``label`` is how the help calls it, ``words`` are all there are."""

    label: str
    kind: Kind
    words: tuple[str, ...] = ()


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """An option; ``value`` is None for a flag, and ``required`` False where it may be left out."""

    flags: tuple[str, ...]
    help: str
    value: Value | None
    required: bool
    again: bool


class VerbGrammar(msgspec.Struct, frozen=True, kw_only=True):
    """A verb and what may stand behind it; ``rest`` is for any number of further arguments."""

    name: str
    summary: str
    options: tuple[Option, ...]
    arguments: tuple[Value, ...]
    rest: Value | None


def read_grammar(verbs: Mapping[str, tuple[str, str]]) -> tuple[VerbGrammar, ...]:
    """The grammar of the verbs in a table of their modules and summaries."""
    return tuple(_verb(name, module, summary) for name, (module, summary) in verbs.items())


def _verb(name: str, module: str, summary: str) -> VerbGrammar:
    parser = parser_of(name, cast(Verb, import_module(module)), summary)
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    options = [action for action in actions if action.option_strings]
    single = [a for a in actions if not a.option_strings and a.nargs in (None, "?")]
    several = [a for a in actions if not a.option_strings and a.nargs not in (None, "?")]
    return VerbGrammar(
        name=name,
        summary=summary,
        options=tuple(map(_option, options)),
        arguments=tuple(map(_value, single)),
        rest=_value(several[0]) if several else None,
    )


def _option(action: argparse.Action) -> Option:
    return Option(
        flags=tuple(action.option_strings),
        # argparse writes a percent sign twice.
        help=(action.help or "").replace("%%", "%"),
        value=None if action.nargs == 0 else _value(action),
        required=action.nargs != "?",
        again=isinstance(action, argparse._AppendAction),
    )


def _value(action: argparse.Action) -> Value:
    label = str(action.metavar or action.dest)
    words = tuple(map(str, action.choices)) if action.choices else _WORDS.get(action.dest, ())
    if words:
        return Value(label, "words", words)
    flag = action.option_strings[-1] if action.option_strings else ""
    if (flag, action.dest) in _HOOKS:
        return Value(label, "hooks")
    return Value(label, _KINDS.get(label, "other"))
