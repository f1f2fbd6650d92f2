"""The help of the command and of its verbs, made of their tables of options to fit a terminal.

argparse breaks words at their hyphens and gives a long name of an option half of a narrow line.
"""

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hookline.cli.screen import break_command, terminal_width

if TYPE_CHECKING:
    from hookline.cli.options import Option

# Where the text beside a name begins at the latest; on a narrow line it stands below the name.
_BESIDE = 24
_NARROW = 60
_BELOW = 6


def format_verb(
    name: str, summary: str, options: "Sequence[Option]", examples: Sequence[str]
) -> str:
    """The help of a verb."""
    width = terminal_width(sys.stdout)
    visible = [option for option in options if option.help is not None]
    called = [_show_name(option) for option in visible if option.required]
    called += ["[options]", *(_show_argument(option) for option in visible if option.is_argument)]
    lines = [*_fill(f"usage: hookline {name} {' '.join(called)}", width, rest=4), ""]
    lines += _fill(f"{summary[0].upper()}{summary[1:]}.", width)
    sections: dict[str, list[tuple[str, str]]] = {"arguments": [], "options": []}
    sections["options"].append(("-h, --help", "show this help and exit"))
    for option in visible:
        title = option.group or ("arguments" if option.is_argument else "options")
        row = (_show_name(option), option.help or "")
        sections.setdefault(title, []).append(row)
    widest = max(len(row[0]) for rows in sections.values() for row in rows)
    start = _BELOW if width < _NARROW else min(2 + widest + 2, _BESIDE)
    for title, rows in sections.items():
        if rows:
            lines += ["", f"{title}:", *_set_rows(rows, start, width)]
    lines += ["", "examples:", *_set_examples(examples, width)]
    return "\n".join(lines) + "\n"


def format_overview(verbs: Mapping[str, str], examples: Sequence[str]) -> str:
    """The help of the command, with its verbs."""
    width = terminal_width(sys.stdout)
    more = "`hookline VERB --help` explains a verb; `hookline --version` prints the version."
    lines = ["usage: hookline VERB [options]", ""]
    lines += [*_fill("Run hooks on the events of an AI agent.", width), ""]
    lines += [*_set_rows([*verbs.items()], 2 + max(map(len, verbs)) + 2, width), ""]
    lines += ["examples:", *_set_examples(examples, width), "", *_fill(more, width)]
    return "\n".join(lines)


def _show_name(option: "Option") -> str:
    """An option with the name of its value."""
    value = option.value or (f"{{{','.join(option.choices)}}}" if option.choices else "")
    if option.is_argument:
        return value
    if option.count == "?":
        value = f"[{value}]"
    return f"{option.name} {value}" if value else option.name


def _show_argument(option: "Option") -> str:
    """An argument as a command line has it."""
    forms = {"?": "[{}]", "*": "[{} ...]"}
    return forms.get(option.count, "{}").format(_show_name(option))


def _set_rows(rows: Sequence[tuple[str, str]], start: int, width: int) -> Iterator[str]:
    """Each name with its text beside it, or below it where the name is too long."""
    for name, text in rows:
        if start == _BELOW or 2 + len(name) + 2 > start:
            yield from _fill(name, width, first=2, rest=4)
            yield from _fill(text, width, first=start, rest=start)
            continue
        first, *others = _fill(text, width, first=start, rest=start)
        yield f"  {name}".ljust(start) + first[start:]
        yield from others


def _set_examples(examples: Sequence[str], width: int) -> Iterator[str]:
    """Whole lines where a program may read them; on a terminal, what does not fit goes on behind a
    backslash, so that it can be copied all the same."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    for example in examples:
        for line in break_command(example, width=width - 2) if is_terminal else [example]:
            yield f"  {line}"


def _fill(text: str, width: int, *, first: int = 0, rest: int = 0) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * first,
        subsequent_indent=" " * rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
