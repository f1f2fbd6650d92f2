"""MkDocs calls this for each page: what is written for the suite and for GitHub becomes what the
site shows; at the end it adds the schemas, and a page where one was before.

The words that tests/harness/documents.py reads on a fence say how a block runs; a reader sees the
name of its file, or that it is what a program prints. A link to a file outside docs leads to the
repository. Whatever is wrong is a warning, and a strict build fails on it.
"""

import logging
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

# MkDocs counts only the warnings of its own loggers.
_log = logging.getLogger("mkdocs.hooks.site")

# Kind of block -> the name by which Pygments knows it.
_LEXERS = {"jsonc": "json", "output": "text", "sh": "bash"}
# The prefix of a page's path -> how much the search prefers it: answers before reports.
_BOOSTS = {
    "index.md": 2,
    "reference/api.md": 0.5,
    "reference/": 2,
    "dependencies.md": 0.3,
    "performance.md": 0.5,
    "requirements.md": 0.3,
}
# A page that is gone -> the page that has its text now.
_MOVED = {"own-loop.html": "agents.html", "tutorials/own-loop.html": "agents.html"}
_REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>hookline</title>
<meta name="robots" content="noindex">
<link rel="canonical" href="{url}">
<meta http-equiv="refresh" content="0; url={url}">
<a href="{url}">This page has moved.</a>
"""
_FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d+[.)]) ")
# Matching code spans skips what looks like a link in them.
_LINK = re.compile(
    r"(?P<code>`+)[^`].*?(?P=code)(?!`)"
    r"|(?P<before>\]\(|^\[[^\]]+\]: +)(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?",
    re.DOTALL | re.MULTILINE,
)


_FILE_NAME_LINK = re.compile(r"\[`?[\w./-]+\.md`?\]\((?P<path>[\w./-]+\.md)(?P<anchor>#[^)\s]*)?\)")
_TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    del files
    where = page.file.src_uri
    boost = next((boost for start, boost in _BOOSTS.items() if where.startswith(start)), 1)
    page.meta.setdefault("search", {}).setdefault("boost", boost)
    root = Path(config.docs_dir).parent
    parts = []
    for text, is_code in _split_by_fences(markdown):
        if is_code:
            parts.append(write_fence(text, where=where))
        else:
            text = name_pages(separate_lists(text), where=where, docs=root / "docs")
            parts.append(link_to_repository(text, where=where, root=root, url=str(config.repo_url)))
    return "".join(parts)


def on_post_build(config: "MkDocsConfig") -> None:
    """Publish the schemas at the addresses in their ``$id``, and lead on from pages that moved."""
    from hookline.hooktests.schema import hooktest_schema
    from hookline.settings import schema
    from hookline.wire.events import HookEventName

    events = map(schema.event_schema, HookEventName)
    for each in (schema.settings_schema(), hooktest_schema(), *events):
        path = Path(config.site_dir, str(each["$id"]).removeprefix(schema.SITE))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(schema.write_schema(each), encoding="utf-8")
    for old, new in _MOVED.items():
        path = Path(config.site_dir, old)
        path.parent.mkdir(parents=True, exist_ok=True)
        url = posixpath.relpath(new, posixpath.dirname(old))
        path.write_text(_REDIRECT.format(url=url), encoding="utf-8")


def write_fence(block: str, *, where: str = "") -> str:
    """The same block with a first line that the Markdown extension understands."""
    first, _, rest = block.partition("\n")
    fence = _FENCE.match(first)
    assert fence is not None
    if 0 < len(fence["indent"]) < 4:
        _log.warning("%s: a block in a list is indented by four spaces: %s", where, first.strip())
    kind, *words = fence["info"].split() or ["text"]
    title = "prints" if kind == "output" else ""
    for word in words:
        if word.startswith("file="):
            title = word.removeprefix("file=")
    lexer = _LEXERS.get(kind, kind)
    titled = f' title="{title}"' if title else ""
    return f"{fence['indent']}{fence['fence']}{lexer}{titled}\n{rest}"


def separate_lists(text: str) -> str:
    """Add an empty line before each list that directly follows a paragraph; GitHub needs none."""
    lines: list[str] = []
    in_list = False
    for line in text.splitlines(keepends=True):
        is_item = _LIST_ITEM.match(line) is not None
        if is_item and not in_list and lines and lines[-1].strip():
            lines.append("\n")
        # A list continues over indented and lazy lines up to an empty one.
        in_list = is_item or (in_list and bool(line.strip()))
        lines.append(line)
    return "".join(lines)


def name_pages(text: str, *, where: str, docs: Path) -> str:
    """The same text, with the titles of pages in place of their file names."""

    def replace(link: re.Match[str]) -> str:
        page = docs / posixpath.dirname(where) / link["path"]
        title = _TITLE.search(page.read_text(encoding="utf-8")) if page.is_file() else None
        return f"[{title[1]}]({link['path']}{link['anchor'] or ''})" if title else link[0]

    return _FILE_NAME_LINK.sub(replace, text)


def link_to_repository(text: str, *, where: str, root: Path, url: str) -> str:
    """The same text, with links out of docs as addresses in the repository."""

    def replace(link: re.Match[str]) -> str:
        target = link["target"]
        if target is None or ":" in target or target.startswith("/"):
            return link[0]
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(where), unquote(target)))
        if path.startswith("docs/"):
            return link[0]
        if path.startswith("..") or not (root / path).exists():
            _log.warning("%s links to %s, which is not in the repository", where, target)
            return link[0]
        kind = "tree" if (root / path).is_dir() else "blob"
        return f"{link['before']}{url}/{kind}/main/{path}{link['anchor'] or ''}"

    return _LINK.sub(replace, text)


def _split_by_fences(markdown: str) -> Iterator[tuple[str, bool]]:
    """The parts of a page in order, each with True if it is a block of code."""
    part: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in markdown.splitlines(keepends=True):
        if closing is not None:
            part.append(line)
            if closing.fullmatch(line.strip()):
                yield "".join(part), True
                part, closing = [], None
        elif fence := _FENCE.match(line):
            yield "".join(part), False
            part = [line]
            closing = re.compile(rf"{fence['fence'][0]}{{{len(fence['fence'])},}}")
        else:
            part.append(line)
    yield "".join(part), closing is not None
