"""``hookline trust``: look at what a project's hooks would run, and let them.

The first time all of it is shown, later only the differences. What cannot be reviewed
beforehand has a list and a question of its own.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hookline.cli.failures import CHECK_HINT, CommandError, tell_problems
from hookline.cli.options import SOURCES, Options, explain_unread, find_sources, flag
from hookline.cli.screen import DIFF_ROLES, Screen, count, diff, shown_path
from hookline.config import Config
from hookline.hooktests.cases import HookTestError, brings_code, find_test_files
from hookline.pipeline.trust.coverage import lines_of
from hookline.pipeline.trust.review import Review, ReviewedHook, TrustError, accept
from hookline.pipeline.trust.store import TrustStore

EXAMPLES = (
    "hookline trust",
    "hookline trust --yes",
    "hookline trust --yes --accept-uncovered",
    "hookline trust --check",
    "hookline trust --claude",
)
OPTIONS = (
    flag("--yes", "trust the hooks as they are, without asking"),
    flag(
        "--accept-uncovered",
        "with --yes: also trust hooks that run something that cannot be reviewed",
    ),
    flag("--check", "change nothing; exit with 1 if anything needs a review"),
    *SOURCES,
)


def run(options: Options, screen: Screen) -> int:
    """Show the hooks, ask, and record; 1 if the answer is no, or anything is left to review."""
    refuse_settings(options)
    config = Config.load(options.cwd, **find_sources(options))
    is_broken = tell_problems(screen, config.get_settings().problems)
    project = config.get_project_dir()
    inside = os.path.join(os.path.abspath(project), "")
    problems = config.get_settings().problems
    broken = [each.place for each in problems if each.broken and each.file.startswith(inside)]
    store, known = TrustStore(), None
    now = config.review_project(_find_tests(project, screen))
    try:
        known = store.read(project)
    except TrustError as error:
        screen.warning(str(error))
    guards = [entry for entry in config.get_settings().entries if entry.hook.type == "withheld"]
    changes = known.changes_of(now) if known is not None else [*_list_unreviewed(now)]
    if not changes:
        # Those of a project that this one hides.
        changes = [f"{entry.event.value} {entry.name}: {entry.hook.why}" for entry in guards]  # type: ignore[attr-defined]
    if options.json:
        if options.yes and changes and not options.check:
            _refuse_broken(broken)
        return _answer_in_json(options, screen, store, now, known, changes)
    if not changes:
        if known is None:
            screen.line("there are no hooks in the settings of ", (now.project, "name"))
            screen.line(CHECK_HINT if is_broken else "`hookline init` makes a first one")
            if files := config.get_unread():
                screen.line((explain_unread(files), "faint"))
            return 0
        screen.line((now.project, "name"), f": {count(len(now.hooks), 'hook')}")
        screen.line(f"trusted on {known.trusted_at}; nothing has changed since")
        _show_uncovered(screen, now.hooks)
        return 0
    if options.check:
        screen.line((now.project, "name"), f": {count(len(changes), 'thing')} to review")
        for change in changes:
            screen.quote(change)
        screen.line("`hookline trust` shows them, and asks")
        return 1
    _show(screen, now, known, changes)
    _refuse_broken(broken)
    uncovered = _show_uncovered(screen, now.hooks)
    if not options.yes and not _agrees(screen, "Let these hooks run as they are shown here?"):
        screen.line("not trusted: these hooks do not run")
        return 1
    is_accepted = not uncovered or options.accept_uncovered
    if not is_accepted and not options.yes:
        question = "Let those run too that nobody can review whole?"
        is_accepted = _agrees(screen, question)
    file = shown_path(store.write(accept(now, known, uncovered=is_accepted)))
    screen.line(("trusted", "good"), f" until anything of this changes; recorded in {file}")
    if not is_accepted:
        names = ", ".join(dict.fromkeys(hook.name for hook in uncovered))
        do_not = "does not" if len(uncovered) == 1 else "do not"
        screen.warning(
            f"{names} {do_not} run: what it runs is not covered; "
            "look at it and pass --accept-uncovered with --yes"
        )
    where = ""
    if options.cwd is not None:
        import shlex

        where = f" --cwd {shlex.quote(options.cwd)}"
    screen.line(f"`hookline untrust{where}` takes it back")
    if os.path.isdir(os.path.join(now.project, ".hookline", "tests")):
        screen.line(f"`hookline test{where}` runs their tests")
    return 0 if is_accepted else 1


def _answer_in_json(
    options: Options,
    screen: Screen,
    store: TrustStore,
    now: Review,
    known: Review | None,
    changes: list[str],
) -> int:
    uncovered = [hook for hook in now.hooks if hook.uncovered]
    trusted_at = known.trusted_at if known else None
    if options.yes and changes and not options.check:
        store.write(accept(now, known, uncovered=options.accept_uncovered))
        reviewed = store.read(now.project)
        assert reviewed is not None
        changes, trusted_at = reviewed.changes_of(now), reviewed.trusted_at
    before = known.files if known else {}
    hooks: list[dict[str, Any]] = [
        hook.entry
        | {
            "files": hook.files,
            "uncovered": [each.what for each in hook.uncovered],
            "remarks": hook.remarks,
        }
        for hook in now.hooks
    ]
    screen.document(
        {
            "project": now.project,
            "trusted": not changes and bool(now.hooks),
            "trusted_at": trusted_at,
            "to_review": changes,
            "hooks": hooks,
            "tests": now.tests,
            "strict": now.strict,
            "required": now.required,
            "files": msgspec.to_builtins(now.files),
            "changed_files": sorted(n for n, state in now.files.items() if before.get(n) != state),
        }
    )
    if changes and options.yes and uncovered and not options.accept_uncovered:
        screen.warning("what is not covered was not trusted; look at it, pass --accept-uncovered")
    return 1 if changes else 0


def _refuse_broken(places: Sequence[str]) -> None:
    """Raise CommandError for settings that cannot be reviewed: they may contain a guard."""
    if places:
        raise CommandError(
            f"{places[0]} cannot be read, so its hooks cannot be reviewed; fix it first, or "
            "`hookline untrust` takes the whole review back"
        )


def _find_tests(project: str, screen: Screen) -> list[str]:
    """The hook tests that bring code: it is reviewed with the project."""
    found = []
    try:
        for file in find_test_files(project):
            try:
                if brings_code(file):
                    found.append(file)
            except HookTestError as error:
                screen.warning(str(error))
    except HookTestError as error:
        screen.warning(str(error))
    return found


def _list_unreviewed(now: Review) -> Iterator[str]:
    for hook in now.hooks:
        yield f"{hook.event} {hook.name}: nobody has reviewed it"
    for name in now.tests:
        yield f"{name}: nobody has reviewed this test"
    if now.strict or now.required:
        yield "strict or required: nobody has reviewed what the project asks for"
    if now.tools:
        yield "hooks.tools: nobody has reviewed what the project says of the host's tools"


def _agrees(screen: Screen, question: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or not screen.is_terminal:
        raise CommandError(
            "nobody can be asked without a terminal; review this and pass --yes to trust it"
        )
    answer = ""
    try:
        sys.stdout.write(f"{question} [y/N] ")
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


def _show(screen: Screen, now: Review, known: Review | None, changes: Sequence[str]) -> None:
    """The hooks and what they name; beside what was trusted before, the changes."""
    hooks, files = count(len(now.hooks), "hook"), count(len(now.files), "file")
    screen.line((now.project, "title"), f"  {hooks}, which name {files} of the project")
    screen.line()
    if known is None:
        for hook in now.hooks:
            matcher = hook.entry.get("matcher", "")
            screen.line((hook.event, "name"), (f"  {matcher}", "matcher"))
            for line in _describe_hook(hook):
                screen.quote(line)
        for line in _describe_project(now):
            screen.quote(line)
        for name, state in now.files.items():
            screen.line()
            screen.line((name, "name"))
            for line in lines_of(state):
                screen.quote(line)
        screen.line()
    else:
        screen.line(f"changed since it was trusted on {known.trusted_at}:", indent=2)
        for change in changes:
            screen.quote(change)
        screen.line()
        _show_diff(screen, _describe_hooks(known), _describe_hooks(now))
        for name in {**known.files, **now.files}:
            before, after = known.files.get(name), now.files.get(name)
            if before != after:
                new = ("  new", "care") if before is None else ("", "")
                screen.line((name, "name"), ("  gone", "care") if after is None else new)
                _show_diff(
                    screen,
                    [] if before is None else lines_of(before),
                    [] if after is None else lines_of(after),
                )
    for remark in dict.fromkeys(remark for hook in now.hooks for remark in hook.remarks):
        screen.line((f"not looked at: {remark}", "faint"))


def _show_uncovered(screen: Screen, hooks: Sequence[ReviewedHook]) -> list[ReviewedHook]:
    """Show what cannot be reviewed beforehand; return the hooks that run it."""
    found = [hook for hook in hooks if hook.uncovered]
    if found:
        screen.line(("not covered: nobody can say beforehand what these run", "care"))
        for hook in found:
            screen.line((hook.event, "name"), f"  {hook.name}", indent=2)
            for each in hook.uncovered:
                screen.quote(str(each))
                if each.remedy:
                    screen.line((f"to have it covered, {each.remedy}", "faint"), indent=4)
        screen.line()
    return found


def _show_diff(screen: Screen, before: Sequence[str], after: Sequence[str]) -> None:
    lines = diff(before, after, around=2)
    for line in lines:
        screen.quote((line, DIFF_ROLES.get(line[:1], "")))
    if lines:
        screen.line()


def _describe_hooks(reviewed: Review) -> list[str]:
    lines = []
    for hook in reviewed.hooks:
        lines += [f"{hook.event}  {hook.entry.get('matcher', '')}".rstrip(), *_describe_hook(hook)]
    return [*lines, *_describe_project(reviewed)]


def _describe_project(reviewed: Review) -> list[str]:
    required = ", ".join(reviewed.required)
    strict = ["the project is strict"] if reviewed.strict else []
    tools = [
        f"the project says that the tool {name} is {alias['name']} in Claude Code"
        + "".join(f", {key} {value}" for key, value in alias.items() if key != "name")
        for name, alias in reviewed.tools.items()
    ]
    return [*strict, *([f"the project requires {required}"] if required else []), *tools]


def _describe_hook(hook: ReviewedHook) -> list[str]:
    """What would be run, sent or asked, with the variables it is given and what else is
    unusual."""
    entry = hook.entry
    command = str(entry.get("command", entry.get("prompt", "")))
    if "args" in entry:
        from shlex import join

        command = join((command, *entry["args"]))
    if "prompt" in entry:
        command = f"asks a model:\n{command}"
    if "url" in entry:
        headers = [f"{name}: {value}" for name, value in entry.get("headers", {}).items()]
        command = "\n".join([f"sends the event to {entry['url']}", *headers])
        if entry.get("allowed_env"):
            command += f"\nits headers may name {', '.join(entry['allowed_env'])}"
    shown = {"event", "matcher", "command", "args", "env", "name", "prompt", "url", "headers"}
    shown |= {"allowed_env", "type"}
    named = {"condition": "if", "background": "async", "plugin_root": "plugin"}
    named |= {"dialect_event": "event in Claude Code", "continue_on_block": "continueOnBlock"}
    more = {name: value for name, value in entry.items() if name not in shown}
    if not hook.enabled:
        more["disabled"] = "by the project"
    return [
        *command.splitlines(),
        *(f"{name}={value}" for name, value in entry.get("env", {}).items()),
        *(f"{named.get(name, name)}: {value}" for name, value in more.items()),
    ]
