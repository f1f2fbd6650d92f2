"""``hookline trust``: look at what a project's hooks would run, and let them."""

import argparse
import os
import sys

from hookline.cli.failures import CommandError
from hookline.cli.paths import shown
from hookline.cli.problems import MENDING, tell_problems
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.cli.trust_screen import show_review
from hookline.config import Config
from hookline.pipeline.trust import Review, TrustError, TrustStore

EXAMPLES = ("hookline trust", "hookline trust --yes", "hookline trust --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is trust's own."""
    parser.add_argument("--yes", action="store_true", help="trust what is there without asking")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the hooks, ask, and record; 1 if the answer is no."""
    if options.settings:
        raise CommandError("files given with --settings are your own and need no trust")
    config = Config.load(options.cwd)
    is_broken = tell_problems(screen, config.get_settings().problems)
    store = TrustStore()
    now, known = config.review_project(), _known(store, config, screen)
    is_trusted = known is not None and known.covers(now)
    if options.json:
        return _as_document(screen, store, now, known, is_trusted=is_trusted, yes=options.yes)
    if not now.hooks:
        screen.line("there are no hooks in the settings of ", (now.project, "name"))
        screen.line(MENDING if is_broken else "`hookline init` makes a first one")
        return 0
    if is_trusted and known is not None:
        screen.line(f"{count(len(now.hooks), 'hook')} of ", (now.project, "name"), " as trusted")
        screen.line(f"on {known.trusted_at}; nothing has changed since")
        return 0
    show_review(screen, now, known)
    if not options.yes and not _agrees(screen):
        screen.line("not trusted: these hooks do not run")
        return 1
    file = store.write(now)
    screen.line(("trusted", "good"), f" until anything of this changes; recorded in {shown(file)}")
    screen.line(f"`{_command('untrust', options)}` takes it back")
    if _has_tests(now.project):
        screen.line(f"`{_command('test', options)}` runs their tests")
    return 0


def _command(verb: str, options: argparse.Namespace) -> str:
    if options.cwd is None:
        return f"hookline {verb}"
    import shlex

    return f"hookline {verb} --cwd {shlex.quote(options.cwd)}"


def _has_tests(project: str) -> bool:
    """Whether there are tests where ``init`` and ``test --record`` put them."""
    try:
        names = os.listdir(os.path.join(project, ".hookline", "tests"))
    except OSError:
        return False
    return any(name.endswith(".hooktest.json") for name in names)


def _known(store: TrustStore, config: Config, screen: Screen) -> Review | None:
    try:
        return store.read(config.get_project_dir())
    except TrustError as error:
        screen.warning(str(error))
        return None


def _agrees(screen: Screen) -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or not screen.is_terminal:
        raise CommandError("there is nobody to ask here; review this and pass --yes to trust it")
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


def _as_document(
    screen: Screen,
    store: TrustStore,
    now: Review,
    known: Review | None,
    *,
    is_trusted: bool,
    yes: bool,
) -> int:
    """What would run, and whether it may; with ``--yes`` it may from now on."""
    import msgspec

    if yes and now.hooks and not is_trusted:
        store.write(now)
        is_trusted = True
    reviewed = msgspec.to_builtins(now)
    screen.document(
        {
            "project": now.project,
            "trusted": is_trusted,
            "trusted_at": known.trusted_at if known else None,
            "hooks": reviewed["hooks"],
            "files": reviewed["files"],
            "changed_files": sorted(
                name
                for name, content in now.files.items()
                if known is None or known.files.get(name) != content
            ),
        }
    )
    return 0 if is_trusted or not now.hooks else 1
