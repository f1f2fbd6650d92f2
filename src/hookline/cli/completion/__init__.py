"""``hookline completion``: prints a completion script for a shell; it changes nothing itself.

The script has everything but the names of hooks. Those depend on the directory, so the script asks
for them with ``--names`` each time. The parts of a script that do not depend on the verbs are in
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
from hookline.engine.project import Project
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
    # For the scripts: the words of the command line to complete follow.
    flag("--names", None),
)

Kind: TypeAlias = Literal["words", "hooks", "files", "directories", "input", "other"]

# The kind of a value, by its label in the help; _WORDS and _HOOKS go by the option's name.
_KINDS: Mapping[str, Kind] = {
    "FILE": "files",
    "FILE|DIR": "files",
    "DIR": "directories",
    "JSON|@FILE|-": "input",
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    # Our events, and those of Claude Code that can be fired here.
    "event": (
        *(event.value for event in HookEventName),
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"),
        *("UserPromptSubmit", "Stop", "PreCompact", "SubagentStart", "SubagentStop"),
    ),
    "shell": _SHELLS,
    "what": ("settings", "hooktest", "event", *(event.value for event in HookEventName)),
}
_HOOKS = ("name", "--hook")
# A verb -> the hooks that it offers; other verbs offer all.
_FOR: Mapping[str, Callable[[HookRegistryEntry], bool]] = {
    "enable": lambda entry: not entry.enabled,
    "disable": lambda entry: entry.enabled and not entry.hook.managed,
}
_HELP = flag("-h --help", "show this help message and exit")


class Value(msgspec.Struct, frozen=True):
    """What an argument may be; ``label`` is its name in the help, ``words`` are all its values."""

    label: str
    kind: Kind
    words: tuple[str, ...] = ()


class VerbGrammar(msgspec.Struct, frozen=True):
    """A verb, its options, and its argument; ``rest`` is one that can be repeated."""

    name: str
    summary: str
    options: tuple[Option, ...]
    argument: Value | None
    rest: Value | None


def run(options: Options, screen: Screen) -> int:
    """Print the script, or with ``--names`` the names of hooks."""
    if options.names:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        for name in _find_names(options.shell):
            # A name that stdout cannot encode would complete to a hook that does not exist.
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
        visible = [option for option in load_verb(name).OPTIONS if option.help is not None]
        flags = [option for option in (_HELP, *visible, *COMMON) if not option.is_argument]
        argument = next((option for option in visible if option.is_argument), None)
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
        screen.note(("the shell reads this script; its first lines say how to install it", "faint"))
    return 0


def read_value(option: Option) -> Value | None:
    """Return what the value of an option or argument may be, None for a flag."""
    if option.is_flag:
        return None
    label = option.value or option.key
    words = option.choices or _WORDS.get(option.key, ())
    if words:
        return Value(label, "words", words)
    return Value(label, "hooks" if option.name in _HOOKS else _KINDS.get(label, "other"))


def _find_names(words: Sequence[str]) -> list[str]:
    """Return the hooks that a command line may name, from the settings that it would use; ``words``
    are its words after ``hookline`` so far.

    A name with unprintable characters is left out: it could look like another, or control the
    terminal.
    """

    def values(option: str) -> list[str]:
        behind = [value for word, value in pairwise(words) if word == option]
        joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
        return [os.path.expanduser(value) for value in (*behind, *joined)]

    cwd = values("--cwd")[-1:] or ["."]
    settings = [file for file in values("--settings") if os.path.isfile(file)]
    if not os.path.isdir(cwd[0]):
        return []
    project = Project.load(
        cwd[0],
        settings_files=settings or None,
        claude="--claude" in words or None,
        plugins=[folder for folder in values("--plugin") if os.path.isdir(folder)],
    )
    is_meant = _FOR.get(words[0]) if words else None
    entries = project.get_settings().entries
    names = (entry.name for entry in entries if is_meant is None or is_meant(entry))
    printable = [name for name in dict.fromkeys(names) if name.isprintable()]
    # Without a -- before it, such a name would be read as an option.
    return [name for name in printable if not name.startswith("-") or "--" in words]


def complete_bash(script: str, grammar: Sequence[VerbGrammar]) -> str:
    """Return the script for bash, also for macOS's 3.2. It splits the line by hand, because the
    line and hook names must not be expanded, as ``compgen -W`` would do."""
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
    """Return the script for fish: one line for each completion; fish quotes what it inserts."""

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
        summary = quote(verb.summary)
        lines += ["", f"complete -c hookline -n __hookline_no_verb -a {verb.name} -d {summary}"]
        start = f"complete -c hookline -n '__hookline_verb {verb.name}'"
        for option in verb.options:
            names = option.name.split()
            words = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in names]
            value = _read_needed_value(option)
            words += [] if value is None else ["-r", take(value)]
            lines.append(" ".join([start, *words, "-d", quote(option.help or "")]))
        argument = verb.argument or verb.rest
        if argument is not None and argument.kind == "words":
            # Offered until one of them is on the line.
            choices = " ".join(argument.words)
            condition = (
                f"__hookline_verb {verb.name}; and not __fish_seen_subcommand_from {choices}"
            )
            lines.append(f"complete -c hookline -n '{condition}' -a '{choices}'")
        elif argument is not None and argument.kind != "other":
            lines.append(f"{start} {take(argument)}")
    return script + "".join(f"{line}\n" for line in lines)


def complete_zsh(script: str, grammar: Sequence[VerbGrammar]) -> str:
    """Return the script for zsh, whose ``_arguments`` counts options and arguments, and whose
    ``compadd`` quotes."""

    def quote(text: str) -> str:
        return text.replace("'", "'\\''")

    def escape(text: str) -> str:
        """Escape a text inside a spec, where brackets and colons have a meaning."""
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
                # A one-letter option takes no equals sign; an optional value needs one.
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
    """Return the value that an option requires, None if it requires none."""
    return None if option.count == "?" else read_value(option)
