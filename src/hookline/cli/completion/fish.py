"""For fish, which takes one line a completion, and quotes what it inserts."""

from collections.abc import Iterator, Sequence

from hookline.cli.completion import Value, VerbGrammar, read_value
from hookline.cli.options import Option

_HEAD = r"""# Completion of hookline for fish. For every shell from now on:
#   hookline completion fish > ~/.config/fish/completions/hookline.fish

function __hookline_verb -d 'Whether the verb is this one'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]
end

function __hookline_no_verb
    test (count (commandline -opc)) -eq 1
end

function __hookline_hooks
    set -l words (commandline -opc)
    command hookline completion --names -- $words[2..-1] 2>/dev/null
end

complete -c hookline -e
complete -c hookline -f
complete -c hookline -n __hookline_no_verb -s h -l help -d 'show the verbs'
complete -c hookline -n __hookline_no_verb -s V -l version -d 'print the version'
"""


def script(grammar: Sequence[VerbGrammar]) -> str:
    """The script for these verbs."""
    return _HEAD + "".join(f"{line}\n" for verb in grammar for line in _lines(verb))


def _lines(verb: VerbGrammar) -> Iterator[str]:
    yield ""
    told = _quote(verb.summary)
    yield f"complete -c hookline -n __hookline_no_verb -a {verb.name} -d {told}"
    start = f"complete -c hookline -n '__hookline_verb {verb.name}'"
    for option in verb.options:
        yield f"{start} {_option(option)}"
    argument = verb.argument or verb.rest
    if argument is not None and argument.kind == "words":
        # One of them on the line is all that is wanted.
        words = " ".join(argument.words)
        condition = f"__hookline_verb {verb.name}; and not __fish_seen_subcommand_from {words}"
        yield f"complete -c hookline -n '{condition}' -a '{words}'"
    elif argument is not None and argument.kind != "other":
        yield f"{start} {_value(argument)}"


def _option(option: Option) -> str:
    words = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.name.split()]
    value = read_value(option)
    if value is not None and option.count != "?":
        words += ["-r", _value(value)]
    return " ".join([*words, "-d", _quote(option.help or "")])


def _value(value: Value) -> str:
    if value.kind == "words":
        return f"-f -a '{' '.join(value.words)}'"
    if value.kind == "hooks":
        return "-f -a '(__hookline_hooks)'"
    if value.kind == "directories":
        return "-f -a '(__fish_complete_directories)'"
    return "-F" if value.kind == "files" else "-f"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
