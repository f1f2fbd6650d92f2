"""``hookline trust``: look at what a project's hooks would run, and let them.

All of it is shown the first time, later only what differs from what was trusted.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from hookline.cli.failures import MENDING, CommandError, tell_problems
from hookline.cli.options import Options, flag
from hookline.cli.screen import DIFF_ROLES, Screen, count, diff, shown_path
from hookline.config import Config
from hookline.pipeline.trust import Review, ReviewedHook, TrustError, TrustStore

EXAMPLES = ("hookline trust", "hookline trust --yes", "hookline trust --json")
OPTIONS = (flag("--yes", "trust what is there without asking"),)


def run(options: Options, screen: Screen) -> int:
    """Show the hooks, ask, and record; 1 if the answer is no."""
    refuse_settings(options)
    config = Config.load(options.cwd)
    is_broken = tell_problems(screen, config.get_settings().problems)
    store, now, known = TrustStore(), config.review_project(), None
    try:
        known = store.read(config.get_project_dir())
    except TrustError as error:
        screen.warning(str(error))
    is_trusted = known is not None and known.covers(now)
    if options.json:
        import msgspec

        if options.yes and now.hooks and not is_trusted:
            store.write(now)
            is_trusted = True
        before = known.files if known else {}
        reviewed = msgspec.to_builtins(now)
        screen.document(
            {
                "project": now.project,
                "trusted": is_trusted,
                "trusted_at": known.trusted_at if known else None,
                "hooks": reviewed["hooks"],
                "files": reviewed["files"],
                "changed_files": sorted(
                    name for name, content in now.files.items() if before.get(name) != content
                ),
            }
        )
        return 0 if is_trusted or not now.hooks else 1
    if not now.hooks:
        screen.line("there are no hooks in the settings of ", (now.project, "name"))
        screen.line(MENDING if is_broken else "`hookline init` makes a first one")
        return 0
    if is_trusted and known is not None:
        screen.line((now.project, "name"), f": {count(len(now.hooks), 'hook')}")
        screen.line(f"trusted on {known.trusted_at}; nothing has changed since")
        return 0
    _show(screen, now, known)
    if not options.yes and not _agrees(screen):
        screen.line("not trusted: these hooks do not run")
        return 1
    file = shown_path(store.write(now))
    screen.line(("trusted", "good"), f" until anything of this changes; recorded in {file}")
    where = ""
    if options.cwd is not None:
        import shlex

        where = f" --cwd {shlex.quote(options.cwd)}"
    screen.line(f"`hookline untrust{where}` takes it back")
    with suppress(OSError):
        # Where ``init`` and ``test --record`` put them.
        names = os.listdir(os.path.join(now.project, ".hookline", "tests"))
        if any(name.endswith(".hooktest.json") for name in names):
            screen.line(f"`hookline test{where}` runs their tests")
    return 0


def _agrees(screen: Screen) -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or not screen.is_terminal:
        raise CommandError(
            "nobody can be asked without a terminal; review this and pass --yes to trust it"
        )
    screen.flush()
    answer = ""
    try:
        sys.stdout.write("Let these hooks run as they are shown here? [y/N] ")
        sys.stdout.flush()
        answer = sys.stdin.readline()
    finally:
        if not answer.endswith("\n"):
            screen.line()
    return answer.strip().lower() in ("y", "yes")


def refuse_settings(options: Options) -> None:
    """Raise CommandError for settings files, which are not a project's."""
    if options.settings:
        raise CommandError("files given with --settings are your own and need no trust")


def _show(screen: Screen, now: Review, known: Review | None) -> None:
    """The hooks and the files they name; beside what was trusted before, the changes."""
    hooks, files = count(len(now.hooks), "hook"), count(len(now.files), "file")
    screen.line((now.project, "title"), f"  {hooks}, {files} of the project named by them")
    screen.line()
    if known is None:
        for hook in now.hooks:
            screen.line((hook.event, "name"), (f"  {hook.matcher or ''}", "matcher"))
            for line in _details(hook):
                screen.quote(line)
        for name, content in now.files.items():
            screen.line()
            screen.line((name, "name"))
            for line in _lines_of_file(content):
                screen.quote(line)
        screen.line()
        return
    screen.line(f"changed since it was trusted on {known.trusted_at}:", indent=2)
    _show_diff(screen, _lines_of_hooks(known.hooks), _lines_of_hooks(now.hooks))
    for name, content in now.files.items():
        before = known.files.get(name)
        if before != content:
            screen.line((name, "name"), "" if before is not None else ("  new", "care"))
            _show_diff(screen, _lines_of_file(before or ""), _lines_of_file(content))


def _show_diff(screen: Screen, before: Sequence[str], after: Sequence[str]) -> None:
    for line in diff(before, after, around=2):
        screen.quote((line, DIFF_ROLES.get(line[:1], "")))
    screen.line()


def _lines_of_hooks(hooks: Sequence[ReviewedHook]) -> list[str]:
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


def _lines_of_file(content: str) -> list[str]:
    kind, _, text = content.partition(":")
    return text.splitlines() if kind == "text" else [content] if content else []
