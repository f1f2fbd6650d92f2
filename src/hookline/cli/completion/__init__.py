"""``hookline completion``: a script for a shell to read; by itself it changes nothing.

A shell is told all but the names of hooks. Those change with the directory, so a shell asks for
them (``--names``) whenever they are wanted. What of a script does not change with the verbs is in
``hookline.bash``, ``hookline.zsh`` and ``hookline.fish``.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
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
    # Ours, and of Claude Code's those that are fired here.
    "event": (
        *(event.value for event in HookEventName),
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"),
        *("UserPromptSubmit", "Stop", "PreCompact", "SubagentStart", "SubagentStop"),
    ),
    "shell": _SHELLS,
    "what": ("settings", "hooktest", "event", *(event.value for event in HookEventName)),
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
        unknown = [f"there is no completion for {s}; " for s in options.shell if s not in _SHELLS]
        raise CommandError(f"{''.join(unknown)}name one shell: {hint}")
    from hookline.cli import VERBS

    grammar: list[VerbGrammar] = []
    for name, summary in VERBS.items():
        shown = [option for option in load_verb(name).OPTIONS if option.help is not None]
        flags = [option for option in (_HELP, *shown, *COMMON) if not option.is_argument]
        argument = next((option for option in shown if option.is_argument), None)
        value = None if argument is None else read_value(argument)
        is_rest = argument is not None and argument.count == "*"
        one, rest = (None, value) if is_rest else (value, None)
        grammar.append(VerbGrammar(name, summary, tuple(flags), one, rest))
    shell = options.shell[0]
    complete = {"bash": complete_bash, "zsh": complete_zsh, "fish": complete_fish}[shell]
    with open(
        os.path.join(os.path.dirname(__file__), f"hookline.{shell}"), encoding="utf-8"
    ) as file:
        script = complete(file.read(), grammar)
    if options.json:
        screen.document({"shell": shell, "script": script})
    else:
        print(script, end="")
    if screen.is_terminal and not options.json:
        screen.note(("this is for the shell to read; its first lines say how", "faint"))
    return 0


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
    config = Config.load(
        cwd[0],
        settings_files=settings or None,
        claude="--claude" in words or None,
        plugins=[folder for folder in values("--plugin") if os.path.isdir(folder)],
    )
    is_meant = _FOR.get(words[0]) if words else None
    entries = config.get_settings().entries
    names = (entry.name for entry in entries if is_meant is None or is_meant(entry))
    shown = [name for name in dict.fromkeys(names) if name.isprintable()]
    # Before a -- such a name would be read as an option.
    return [name for name in shown if not name.startswith("-") or "--" in words]


def complete_bash(script: str, grammar: Sequence[VerbGrammar]) -> str:
    """The script for bash, 3.2 too, which macOS has: it takes the line apart by hand, since nothing
    in it or in a hook's name may ever be expanded, as ``compgen -W`` would."""
    cases = []
    for verb in grammar:
        flags = [name for option in verb.options for name in option.name.split()]
        expected: list[tuple[list[str], Value | None]] = [
            (["options"], Value("", "words", tuple(flags))),
            *((option.name.split(), _read_needed_value(option)) for option in verb.options),
            (["0"], verb.argument),
            (["rest"], verb.rest),
        ]
        for keys, value in expected:
            if value is not None:
                pattern = " | ".join(f"{verb.name}:{key}" for key in keys)
                is_words = value.kind == "words"
                kind = f"words:{','.join(value.words)}" if is_words else value.kind
                cases.append(f"        {pattern}) expected={kind} ;;")
    verbs = " ".join(verb.name for verb in grammar)
    return script.replace("@CASES@", "\n".join(cases)).replace("@VERBS@", verbs)


def complete_fish(script: str, grammar: Sequence[VerbGrammar]) -> str:
    """The script for fish, which takes one line a completion, and quotes what it inserts."""

    def quote(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"

    def take(value: Value) -> str:
        return {
            "words": f"-f -a '{' '.join(value.words)}'",
            "hooks": "-f -a '(__hookline_hooks)'",
            "directories": "-f -a '(__fish_complete_directories)'",
            "files": "-F",
        }.get(value.kind, "-f")

    lines = []
    for verb in grammar:
        told = quote(verb.summary)
        lines += ["", f"complete -c hookline -n __hookline_no_verb -a {verb.name} -d {told}"]
        start = f"complete -c hookline -n '__hookline_verb {verb.name}'"
        for option in verb.options:
            names = option.name.split()
            words = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in names]
            value = _read_needed_value(option)
            words += [] if value is None else ["-r", take(value)]
            lines.append(" ".join([start, *words, "-d", quote(option.help or "")]))
        argument = verb.argument or verb.rest
        if argument is not None and argument.kind == "words":
            # One of them on the line is all that is wanted.
            given = " ".join(argument.words)
            condition = f"__hookline_verb {verb.name}; and not __fish_seen_subcommand_from {given}"
            lines.append(f"complete -c hookline -n '{condition}' -a '{given}'")
        elif argument is not None and argument.kind != "other":
            lines.append(f"{start} {take(argument)}")
    return script + "".join(f"{line}\n" for line in lines)


def complete_zsh(script: str, grammar: Sequence[VerbGrammar]) -> str:
    """The script for zsh, whose own ``_arguments`` keeps count of options and arguments;
    ``compadd`` quotes."""

    def quote(text: str) -> str:
        return text.replace("'", "'\\''")

    def escape(text: str) -> str:
        """A text inside a spec, where brackets and colons mean something."""
        for character in "\\[]:":
            text = text.replace(character, f"\\{character}")
        return quote(text)

    def take(value: Value) -> str:
        actions = {
            "words": f"({' '.join(value.words)})",
            "hooks": "_hookline_hooks",
            "files": "_files",
            "directories": "_files -/",
            "input": "_hookline_input",
            "other": " ",
        }
        return f"{escape(value.label)}:{actions[value.kind]}"

    cases = []
    for verb in grammar:
        specs = []
        for option in verb.options:
            names, value = option.name.split(), read_value(option)
            others = "*" if option.again else f"({' '.join(names)})"
            for name in names:
                # An option of one letter takes no equals sign; a value that may be left out
                # needs one.
                is_joined = value is not None and name.startswith("--") and option.count != "?"
                spec = f"{others}{name}{'=' if is_joined else ''}[{escape(option.help or '')}]"
                if value is not None:
                    spec += f"{'::' if option.count == '?' else ':'}{take(value)}"
                specs.append(spec)
        for place, argument in (("1", verb.argument), ("*", verb.rest)):
            if argument is not None:
                specs.append(f"{place}:{take(argument)}")
        cases += [f"        {verb.name})", "            _arguments -S \\"]
        cases.append(" \\\n".join(f"                '{spec}'" for spec in specs) + " ;;")
    verbs = "\n".join(f"        '{verb.name}:{quote(verb.summary)}'" for verb in grammar)
    return script.replace("@VERBS@", verbs).replace("@CASES@", "\n".join(cases))


def _read_needed_value(option: Option) -> Value | None:
    """What must stand behind an option, None where nothing has to."""
    return None if option.count == "?" else read_value(option)
