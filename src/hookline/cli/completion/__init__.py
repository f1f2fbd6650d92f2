"""``hookline completion``: a script for a shell to read; by itself it changes nothing.

A shell is told all but the names of hooks. Those change with the directory, so a shell asks for
them (``--names``) whenever they are wanted.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from hookline.cli.failures import CommandError
from hookline.cli.options import COMMON, Option, Options, flag, load_verb
from hookline.cli.screen import Screen
from hookline.config import Config
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire.events import HookEventName

_SHELLS = ("bash", "zsh", "fish")
EXAMPLES = (
    "hookline completion bash > hookline.bash",
    "hookline completion zsh > _hookline",
    "hookline completion fish > hookline.fish",
)
OPTIONS = (
    Option("shell", "SHELL", ", ".join(_SHELLS), default=(), count="*"),
    # For the scripts themselves: the words of the line that is being completed follow.
    flag("--names", None),
)

Kind: TypeAlias = Literal["words", "hooks", "files", "directories", "input", "other"]

# What a value is told by: what the help calls it, and where that says too little its name.
_KINDS: Mapping[str, Kind] = {
    "FILE": "files",
    "FILE|DIR": "files",
    "DIR": "directories",
    "JSON|@FILE|-": "input",
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "event": tuple(event.value for event in HookEventName),
    "shell": _SHELLS,
}
_HOOKS = ("name", "--hook")
# A verb -> the hooks it is for; others are for all.
_FOR: Mapping[str, Callable[[HookRegistryEntry], bool]] = {
    "enable": lambda entry: not entry.enabled,
    "disable": lambda entry: entry.enabled and not entry.hook.managed,
}
_HELP = flag("-h --help", "show this help message and exit")


class Value(msgspec.Struct, frozen=True):
    """What an argument may be; ``label`` is how the help calls it, ``words`` are all there are."""

    label: str
    kind: Kind
    words: tuple[str, ...] = ()


class VerbGrammar(msgspec.Struct, frozen=True):
    """A verb, its options, and what its argument may be; ``rest`` is that of any number of them."""

    name: str
    summary: str
    options: tuple[Option, ...]
    argument: Value | None
    rest: Value | None


def run(options: Options, screen: Screen) -> int:
    """Print the script, or for a script the names of hooks."""
    if options.names:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        for name in _find_names(options.shell):
            # One that the shell could not be told as it is would be a hook that is not there.
            if name.encode(encoding, "replace").decode(encoding) == name:
                print(name)
        return 0
    if len(options.shell) != 1 or options.shell[0] not in _SHELLS:
        used = os.path.basename(os.environ.get("SHELL", ""))
        hint = "`hookline completion bash`, zsh or fish"
        if used in _SHELLS:
            hint = f"yours is {used}, so `hookline completion {used}`"
        raise CommandError(f"name one shell: {hint}")
    from hookline.cli import VERBS

    shell = options.shell[0]
    grammar = [_read_verb(name, summary) for name, summary in VERBS.items()]
    script = str(import_module(f"hookline.cli.completion.{shell}").script(grammar))
    if options.json:
        screen.document({"shell": shell, "script": script})
    else:
        print(script, end="")
    if screen.is_terminal and not options.json:
        screen.note(("this is for the shell to read; its first lines say how", "faint"))
    return 0


def _read_verb(name: str, summary: str) -> VerbGrammar:
    shown = [option for option in load_verb(name).OPTIONS if option.help is not None]
    options = [option for option in (_HELP, *shown, *COMMON) if not option.is_argument]
    argument = next((option for option in shown if option.is_argument), None)
    value = None if argument is None else read_value(argument)
    is_rest = argument is not None and argument.count == "*"
    return VerbGrammar(
        name, summary, tuple(options), None if is_rest else value, value if is_rest else None
    )


def read_value(option: Option) -> Value | None:
    """What may be the value of an option or an argument, None for a flag."""
    if option.is_flag:
        return None
    label = option.value or option.key
    words = option.choices or _WORDS.get(option.key, ())
    if words:
        return Value(label, "words", words)
    return Value(label, "hooks" if option.name in _HOOKS else _KINDS.get(label, "other"))


def _find_names(words: Sequence[str]) -> list[str]:
    """The hooks that a command line may name, given by its words behind ``hookline`` so far, out of
    the settings that it would be run with.

    A name that would not show as it is cannot be told from another, and could steer a terminal:
    it is left out.
    """

    def values(option: str) -> list[str]:
        behind = [value for word, value in pairwise(words) if word == option]
        joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
        return [os.path.expanduser(value) for value in (*behind, *joined)]

    cwd = values("--cwd")[-1:] or ["."]
    settings = [file for file in values("--settings") if os.path.isfile(file)]
    if not os.path.isdir(cwd[0]):
        return []
    config = Config.load(cwd[0], settings_files=settings or None)
    is_meant = _FOR.get(words[0]) if words else None
    entries = config.get_settings().entries
    names = (entry.name for entry in entries if is_meant is None or is_meant(entry))
    shown = [name for name in dict.fromkeys(names) if name.isprintable()]
    # Before a -- such a name would be read as an option.
    return [name for name in shown if not name.startswith("-") or "--" in words]
