"""The few forms of Markdown that the pages are made of."""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def page(title: str, *parts: str) -> str:
    """A page. The comment is below the title, since a site takes its name from the first line."""
    note = "<!-- Written from the code by: python tools/reference/run.py -->"
    return "\n\n".join([f"# {title}", note, *(part.strip("\n") for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: object) -> str:
    """A name or value as code; it may contain backticks."""
    written = str(text)
    return f"`` {written} ``" if "`" in written else f"`{written}`"


def escape(text: str) -> str:
    """Escape stars and angle brackets in a text from the code, except in code spans."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [part.replace("*", "\\*").replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def codes(texts: Iterable[object]) -> str:
    return ", ".join(map(code, texts))


def fence(kind: str, text: str) -> str:
    return f"```{kind}\n{text.strip(chr(10))}\n```"


def json_block(value: Any, kind: str = "json") -> str:
    return fence(kind, format_json(value))


def format_json(value: Any, *, width: int = 88) -> str:
    """JSON with each value on one line if it fits, as people write it."""
    return _format(value, "", width)


def _format(value: Any, indent: str, width: int, taken: int = 0) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return flat
    # A list of plain values and a small object are easy to read on one line.
    is_small = not any(isinstance(item, dict | list) and item for item in _items(value))
    if len(indent) + taken + len(flat) <= width and (is_small or len(flat) <= width // 2):
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        names = [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
        items = [
            deeper + name + _format(item, deeper, width, len(name) + 1)
            for name, item in zip(names, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    items = [deeper + _format(item, deeper, width, 1) for item in value]
    return "[\n" + ",\n".join(items) + f"\n{indent}]"


def _items(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def tell(names: Iterable[str], told: Mapping[str, T], *, of: str) -> list[tuple[str, T]]:
    """The description of each name, in the order of ``told``; raises LookupError for a name without
    a description, and for one that the code no longer has."""
    known = set(names)
    if missing := sorted(known - told.keys()):
        raise LookupError(f"the reference does not describe {of} {', '.join(missing)}: add a line")
    if gone := [name for name in told if name not in known]:
        raise LookupError(f"the code has no {of} {', '.join(gone)}: remove the line")
    return [*told.items()]


def _cell(text: str) -> str:
    # Some Markdown parsers show the backslash of an escaped bar in code, others need it.
    return " ".join(re.sub(r"`[^`]*\|[^`]*`", _code_with_bars, text).split())


def _code_with_bars(found: re.Match[str]) -> str:
    return f"<code>{html.escape(found[0][1:-1]).replace('|', '&#124;')}</code>"
