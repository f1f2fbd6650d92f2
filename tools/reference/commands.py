"""Every verb with its options and examples, from the tables that the command line reads."""

from hookline.cli import VERBS
from hookline.cli.options import COMMON, Option, Verb, load_verb
from tools.reference.markdown import code, escape, fence, page, table


def render() -> str:
    parts = []
    for name, summary in VERBS.items():
        verb = load_verb(name)
        own = [option for option in verb.OPTIONS if option.help is not None]
        parts += [
            f"## {name}",
            f"{summary[0].upper()}{summary[1:]}.",
            fence("text", f"hookline {name} {_usage(verb)}"),
            _options_table(own) if own else "It has no options of its own.",
            fence("sh norun=examples", "\n".join(verb.EXAMPLES)) if verb.EXAMPLES else "",
        ]
    return page(
        "Commands",
        "`hookline VERB --help` says the same. [The guide](../cli.md) shows what each prints. What "
        "they exit with: [exit codes](exit-codes.md).",
        table(
            ("verb", "what it is for"),
            [(f"[{name}](#{name})", summary) for name, summary in VERBS.items()],
        ),
        "## Options of every verb",
        _options_table(COMMON),
        "`hookline --version` prints the version, `hookline --help` the verbs.",
        *parts,
    )


def _usage(verb: Verb) -> str:
    words = ["[OPTIONS]"]
    for option in verb.OPTIONS:
        if option.is_argument and option.help is not None:
            named = option.value + ("…" if option.count == "*" else "")
            words.append(f"[{named}]" if option.count else named)
    return " ".join(words)


def _options_table(options: "tuple[Option, ...] | list[Option]") -> str:
    return table(
        ("option", "meaning"),
        [(code(_written(option)), escape(option.help or "")) for option in options],
    )


def _written(option: Option) -> str:
    if option.is_argument:
        return option.value or option.name
    value = "|".join(option.choices) or option.value
    if value and option.count == "?":
        value = f"[{value}]"
    return f"{option.name} {value}".rstrip()
