"""Shows what would run, whole the first time, later only what differs from what was trusted."""

from collections.abc import Iterator, Sequence

from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.pipeline.trust import Review, ReviewedHook

_ROLES = {"+": "good", "-": "bad", "@": "faint"}


def show_review(screen: Screen, now: Review, known: Review | None) -> None:
    """The hooks and the files they name; beside what was trusted before, the changes."""
    hooks, files = count(len(now.hooks), "hook"), count(len(now.files), "file")
    screen.line((now.project, "title"), f"  {hooks}, {files} of the project named by them")
    screen.line()
    if known is None:
        _show_whole(screen, now)
    else:
        screen.line(f"changed since it was trusted on {known.trusted_at}:", indent=2)
        _show_lines(screen, _difference(_lines_of(known.hooks), _lines_of(now.hooks)))
        screen.line()
        _show_changed_files(screen, now, known)


def _show_whole(screen: Screen, now: Review) -> None:
    for hook in now.hooks:
        screen.line((hook.event, "name"), (f"  {hook.matcher or ''}", "matcher"))
        for line in _details(hook):
            screen.quote(line)
    for name, content in now.files.items():
        screen.line()
        screen.line((name, "name"))
        for line in _text_lines(content):
            screen.quote(line)
    screen.line()


def _show_changed_files(screen: Screen, now: Review, known: Review) -> None:
    for name, content in now.files.items():
        before = known.files.get(name)
        if before == content:
            continue
        screen.line((name, "name"), "" if before is not None else ("  new", "care"))
        _show_lines(screen, _difference(_text_lines(before or ""), _text_lines(content)))
        screen.line()


def _show_lines(screen: Screen, lines: Iterator[str]) -> None:
    for line in lines:
        screen.quote((line, _ROLES.get(line[:1], "")))


def _difference(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    from difflib import unified_diff

    for number, line in enumerate(unified_diff(before, after, lineterm="", n=2)):
        # The first two name files, of which there are none here.
        if number > 1:
            yield line


def _lines_of(hooks: Sequence[ReviewedHook]) -> list[str]:
    return [
        line
        for hook in hooks
        for line in (f"{hook.event}  {hook.matcher or ''}".rstrip(), *_details(hook))
    ]


def _details(hook: ReviewedHook) -> list[str]:
    """The command as it would be run, and the variables it is given."""
    command = hook.command
    if hook.args is not None:
        from shlex import join

        command = join((hook.command, *hook.args))
    return [*command.splitlines(), *(f"{name}={value}" for name, value in hook.env.items())]


def _text_lines(content: str) -> list[str]:
    kind, _, text = content.partition(":")
    return text.splitlines() if kind == "text" else [content] if content else []
