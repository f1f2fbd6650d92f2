"""For fish, which takes one line a completion, and quotes what it inserts."""

from collections.abc import Iterator, Sequence

from hookline.cli.completing.grammar import Option, Value, VerbGrammar

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
    told = _quoted(verb.summary)
    yield f"complete -c hookline -n __hookline_no_verb -a {verb.name} -d {told}"
    start = f"complete -c hookline -n '__hookline_verb {verb.name}'"
    for option in verb.options:
        yield f"{start} {_option(option)}"
    for argument in (*verb.arguments, *([verb.rest] if verb.rest else [])):
        if argument.kind == "words":
            # One of them on the line is all that is wanted.
            words = " ".join(argument.words)
            condition = f"__hookline_verb {verb.name}; and not __fish_seen_subcommand_from {words}"
            yield f"complete -c hookline -n '{condition}' -a '{words}'"
        elif argument.kind != "other":
            yield f"{start} {_value(argument)}"


def _option(option: Option) -> str:
    words = [
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
    ]
    if option.value is not None and option.required:
        words += ["-r", _value(option.value)]
    return " ".join([*words, "-d", _quoted(option.help)])


def _value(value: Value) -> str:
    if value.kind == "words":
        return f"-f -a '{' '.join(value.words)}'"
    if value.kind == "hooks":
        return "-f -a '(__hookline_hooks)'"
    if value.kind == "directories":
        return "-f -a '(__fish_complete_directories)'"
    return "-F" if value.kind == "files" else "-f"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
