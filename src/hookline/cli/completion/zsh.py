"""For zsh, whose own ``_arguments`` keeps count of options and arguments; ``compadd`` quotes."""

from collections.abc import Iterator, Sequence

from hookline.cli.completion import Value, VerbGrammar, read_value
from hookline.cli.options import Option

_SCRIPT = r"""#compdef hookline
# Completion of hookline for zsh. For every shell from now on, into a directory of your $fpath:
#   hookline completion zsh > ~/.zfunc/_hookline
# with "fpath=(~/.zfunc $fpath)" before "compinit" in ~/.zshrc; or, behind it, this line:
#   eval "$(hookline completion zsh)"

_hookline_hooks() {
    local -a names
    names=("${(@f)$(command hookline completion --names -- "${(@Q)words}" 2> /dev/null)}")
    compadd -a names
}

_hookline_input() {
    if compset -P @; then _files; fi
}

_hookline_verbs() {
    local -a verbs
    verbs=(
@VERBS@
    )
    _describe -t verbs verb verbs
}

_hookline() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C \
        '(- *)'{-h,--help}'[show the verbs]' \
        '(- *)'{-V,--version}'[print the version]' \
        '1:verb:_hookline_verbs' \
        '*::argument:->arguments'
    if [[ $state != arguments ]]; then return; fi
    curcontext=${curcontext%:*:*}:hookline-$words[1]:
    case $words[1] in
@CASES@
    esac
}

if [[ $funcstack[1] == _hookline ]]; then
    _hookline "$@"
else
    compdef _hookline hookline
fi
"""


def script(grammar: Sequence[VerbGrammar]) -> str:
    """The script for these verbs."""
    verbs = "\n".join(f"        '{verb.name}:{_quote(verb.summary)}'" for verb in grammar)
    cases = "\n".join(line for verb in grammar for line in _case(verb))
    return _SCRIPT.replace("@VERBS@", verbs).replace("@CASES@", cases)


def _case(verb: VerbGrammar) -> Iterator[str]:
    specs = [spec for option in verb.options for spec in _specs(option)]
    for place, argument in (("1", verb.argument), ("*", verb.rest)):
        if argument is not None:
            specs.append(f"{place}:{_what(argument)}")
    yield f"        {verb.name})"
    yield "            _arguments -S \\"
    yield " \\\n".join(f"                '{spec}'" for spec in specs) + " ;;"


def _specs(option: Option) -> Iterator[str]:
    flags, value = option.name.split(), read_value(option)
    others = "*" if option.again else f"({' '.join(flags)})"
    for flag in flags:
        if value is None:
            yield f"{others}{flag}[{_escape(option.help or '')}]"
            continue
        # An option of one letter takes no equals sign; a value that may be left out needs one.
        is_optional = option.count == "?"
        joint = "=" if flag.startswith("--") and not is_optional else ""
        colons = "::" if is_optional else ":"
        yield f"{others}{flag}{joint}[{_escape(option.help or '')}]{colons}{_what(value)}"


def _what(value: Value) -> str:
    actions = {
        "words": f"({' '.join(value.words)})",
        "hooks": "_hookline_hooks",
        "files": "_files",
        "directories": "_files -/",
        "input": "_hookline_input",
        "other": " ",
    }
    return f"{_escape(value.label)}:{actions[value.kind]}"


def _escape(text: str) -> str:
    """A text inside a spec, where brackets and colons mean something."""
    for character in "\\[]:":
        text = text.replace(character, f"\\{character}")
    return _quote(text)


def _quote(text: str) -> str:
    return text.replace("'", "'\\''")
