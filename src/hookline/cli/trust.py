"""``hookline trust``: look at what a project's hooks would run, and let them.

The first time all of it is shown, later the differences against the copy of the last review. What
no review vouches for has a list and questions of its own, and the last lines before a question sum
up what a yes means: long files scroll away.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hookline.cli.failures import CHECK_HINT, CommandError, tell_problems
from hookline.cli.options import SOURCES, Option, Options, explain_unread, find_sources, flag
from hookline.cli.screen import DIFF_ROLES, Screen, count, diff, shorten_path
from hookline.engine.project import Project
from hookline.hooktests.cases import HookTestError, brings_code, find_test_files
from hookline.trust.form import CHANGES
from hookline.trust.review import (
    Review,
    ReviewDraft,
    ReviewedFile,
    ReviewedHook,
    TrustError,
    find_refused,
    leave_out,
)
from hookline.trust.store import ReviewRecord, TrustStore
from hookline.wire.hooks import WithheldHook

_PRINT = "print"
EXAMPLES = (
    "hookline trust",
    "hookline trust --yes",
    "hookline trust --check",
    "hookline trust --digest",
    "hookline trust --claude",
)
OPTIONS = (
    flag("--yes", "trust the hooks as they are, without asking"),
    Option(
        "--accept-open",
        "NAME",
        "with --yes: also trust this hook, though what it starts can change without a review; "
        "can be given more than once",
        again=True,
    ),
    flag("--check", "change nothing; exit with 1 if anything needs a review"),
    Option(
        "--digest",
        "HEX",
        "print the digest of what would be reviewed; with --yes, trust only what has this digest; "
        "with --check, compare it, without any review",
        count="?",
        means=_PRINT,
    ),
    *SOURCES,
)
_MOST_SHOWN = 256 * 1024
_NO_VOUCH = "What a script composes when it runs, no review sees."


def run(options: Options, screen: Screen) -> int:
    """Show the hooks, ask, and record; 1 if the answer is no, or anything is left to review."""
    refuse_settings(options)
    project = Project.load(options.cwd, **find_sources(options))
    settings = project.get_settings()
    problems = [each for each in settings.problems if each.kind != "guard-kept"]
    is_broken = tell_problems(screen, problems)
    project_dir = project.project_dir
    draft = project.review(_find_tests(project_dir, screen))
    now = draft.review
    unknown = set(options.accept_open or ()) - {hook.name for hook in now.hooks}
    if unknown:
        raise CommandError(f"--accept-open: no hook is named {sorted(unknown)[0]!r}")
    if options.digest is not None and (answer := _answer_digest(options, screen, now)) is not None:
        return answer
    stores = TrustStore.all()
    record = _read_record(stores, project_dir, screen)
    former = None if record is None else record.review
    changes = former.changes_of(now) if former is not None else [*_list_unreviewed(now)]
    if record is not None and (damage := record.find_damage(record.review.files)) is not None:
        changes.append(damage)
    if not changes:
        # Those of a project whose review cannot be read.
        changes = [
            f"{entry.event.value} {entry.name}: {entry.hook.why}"
            for entry in settings.entries
            if isinstance(entry.hook, WithheldHook)
        ]
    inside = os.path.join(os.path.abspath(project_dir), "")
    broken = [p.place for p in problems if p.broken and p.file.startswith(inside)]
    if options.yes and changes and not options.check:
        _refuse_broken(broken)
    if options.json:
        return _answer_in_json(options, screen, stores, draft, record, changes)
    if not changes:
        return _tell_unchanged(screen, project, now, former, is_broken=is_broken)
    if options.check:
        screen.line((now.project, "name"), f": {count(len(changes), 'thing')} to review")
        for change in changes:
            screen.quote(change)
        screen.line("`hookline trust` shows them, and asks")
        return 1
    _show(screen, draft, record, changes)
    _refuse_broken(broken)
    refused = _ask(options, screen, now, former)
    if refused is None:
        return 1
    folder = _record(stores, draft, refused)
    screen.line(("trusted", "good"), f" until anything of this changes; kept in {folder}")
    for hook in refused:
        screen.warning(
            f"{hook.name} does not run: it is open; look at it, and accept it by name with "
            f"--yes --accept-open {_quote(hook.name)}"
        )
    where = "" if options.cwd is None else f" --cwd {_quote(options.cwd)}"
    screen.line(f"`hookline untrust{where}` takes it back")
    _run_tests(options, screen, now, where)
    return 1 if refused else 0


def _answer_digest(options: Options, screen: Screen, now: Review) -> int | None:
    """Print or compare the digest; None if it is the one that was given, and is to be trusted."""
    digest = now.digest()
    expected = "" if options.digest == _PRINT else options.digest.removeprefix("sha256:").lower()
    if not expected and (options.yes or options.check):
        raise CommandError("--digest needs the digest behind it here: --digest sha256:…")
    if not expected:
        if options.json:
            screen.document({"project": now.project, "digest": digest})
        else:
            screen.raw_line(digest)
        return 0
    is_same = digest == f"sha256:{expected}"
    if options.yes and is_same and not options.check:
        return None
    if options.json:
        screen.document({"project": now.project, "digest": digest, "same": is_same})
    elif is_same:
        screen.line("the hooks have this digest")
    else:
        screen.line(("other hooks: ", "bad"), f"their digest is {digest}")
        screen.line("`hookline trust` shows them; a digest is for what somebody looked at")
    return 0 if is_same else 1


def _read_record(
    stores: Sequence[TrustStore], project: str, screen: Screen | None
) -> ReviewRecord | None:
    """Read the review in force, and explain what keeps one from being read."""
    for store in stores:
        try:
            record = store.read(project)
        except TrustError as error:
            if screen is not None:
                screen.warning(str(error))
            continue
        if record is not None:
            return record
    return None


def _record(
    stores: Sequence[TrustStore], draft: ReviewDraft, refused: Sequence[ReviewedHook]
) -> str:
    """Write a review where the environment leads; those in other places stay in force."""
    return shorten_path(stores[0].write(leave_out(draft, refused)))


def _ask(
    options: Options, screen: Screen, now: Review, former: Review | None
) -> list[ReviewedHook] | None:
    """Ask about the review, then about each open hook; return the open hooks that were refused,
    None if nothing is to be recorded."""
    refused = find_refused(now, former, set(options.accept_open or ()))
    _sum_up(screen, now, former)
    if not options.yes and not _agrees(screen, "Let these hooks run as they are shown here?"):
        screen.line("not trusted: these hooks do not run")
        return None
    if not options.yes:
        refused = [hook for hook in refused if not _agrees(screen, _word_question(hook))]
    # An open guard that is refused must not take the one away that it would replace.
    before = [] if former is None else former.get_guards()
    for hook in refused:
        if any(guard.has_same_place(hook.entry) for guard in before):
            screen.warning(
                f"nothing was changed: {hook.name} is open now, and was reviewed as a guard, which "
                f"goes on; to replace it pass --yes --accept-open {_quote(hook.name)}"
            )
            return None
    return refused


def _word_question(hook: ReviewedHook) -> str:
    guard = "the guard " if hook.is_guard else ""
    return f"Let {guard}{hook.name!r} run, though what it starts can change without a review?"


def _sum_up(screen: Screen, now: Review, former: Review | None) -> None:
    """Say in the last lines before the question what a yes means."""
    guards = [hook for hook in now.hooks if hook.is_guard]
    opened = [hook for hook in now.hooks if hook.why_open]
    others = len(now.hooks) - len(guards)
    parts = [count(len(guards), "guard")] if guards else []
    parts += [count(others, "other hook" if guards else "hook")] if others else []
    screen.line(("to trust: ", "title"), ", ".join(parts) or "no hooks", f" of {now.project}")
    for guard in [] if former is None else former.get_guards():
        if not any(guard.has_same_place(hook.entry) for hook in now.hooks):
            screen.line(("removed: ", "bad"), f"{guard.name}, which guards no more", indent=2)
    for hook in opened:
        screen.line(("open: ", "bad"), hook.name, indent=2)
    screen.line((_NO_VOUCH, "faint"))


def _run_tests(options: Options, screen: Screen, now: Review, where: str) -> None:
    """Run the guards' hook tests from the copy, or say that there are none."""
    guards = {hook.name for hook in now.hooks if hook.is_guard and hook.enabled}
    if not guards:
        if os.path.isdir(os.path.join(now.project, ".hookline", "tests")):
            screen.line(f"`hookline test{where}` runs their tests")
        return
    from hookline.cli.events import fire
    from hookline.hooktests.cases import read_test_file
    from hookline.hooktests.runs import HookTestRunner

    files = [read_test_file(path) for path in find_test_files(now.project)]
    tests = [test for file in files for test in file.tests]
    if not tests:
        screen.line("the guards have no tests; `hookline test --record` writes one")
        return
    runner = HookTestRunner(fire, cwd=options.cwd, **find_sources(options))
    outcomes = [runner.run(test) for test in tests]
    failed = [outcome.test.name for outcome in outcomes if outcome.status == "failed"]
    if failed:
        names = ", ".join(failed)
        screen.warning(f"of {count(len(tests), 'test')} from the copy these fail: {names}")
        screen.line(f"`hookline test{where}` shows why")
    else:
        passed = f"{count(len(tests), 'test')} passed, from the copy"
        screen.line(f"{passed}; `hookline test{where}` runs them again")


def _tell_unchanged(
    screen: Screen, project: Project, now: Review, former: Review | None, *, is_broken: bool
) -> int:
    if former is None:
        screen.line("there are no hooks in the settings of ", (now.project, "name"))
        screen.line(CHECK_HINT if is_broken else "`hookline init` makes a first one")
        if files := project.find_unread():
            screen.line((explain_unread(files), "faint"))
        return 0
    screen.line((now.project, "name"), f": {count(len(now.hooks), 'hook')}")
    screen.line(f"trusted on {former.trusted_at}; nothing has changed since")
    _show_open(screen, now.hooks)
    return 0


def _answer_in_json(
    options: Options,
    screen: Screen,
    stores: Sequence[TrustStore],
    draft: ReviewDraft,
    record: ReviewRecord | None,
    changes: list[str],
) -> int:
    now, former = draft.review, None if record is None else record.review
    refused = find_refused(now, former, set(options.accept_open or ()))
    is_kept = former is not None and any(
        guard.has_same_place(hook.entry) for guard in former.get_guards() for hook in refused
    )
    if options.yes and changes and not options.check and not is_kept:
        _record(stores, draft, refused)
        record = _read_record(stores, now.project, None)
        assert record is not None
        former, changes = record.review, record.review.changes_of(now)
    before = {} if former is None else former.files
    hooks: list[dict[str, Any]] = [
        {
            **hook.entry,
            "files": hook.files,
            "guard": hook.is_guard,
            "open": hook.why_open,
            "remedy": hook.remedy,
            "hints": hook.hints,
        }
        for hook in now.hooks
    ]
    screen.document(
        {
            "project": now.project,
            "trusted": not changes and bool(now.hooks),
            "trusted_at": None if former is None else former.trusted_at,
            "digest": now.digest(),
            "to_review": changes,
            "hooks": hooks,
            "tests": now.tests,
            "strict": now.strict,
            "required": now.required,
            "files": msgspec.to_builtins(now.files),
            "changed_files": sorted(n for n, file in now.files.items() if before.get(n) != file),
        }
    )
    if changes and options.yes and refused:
        names = ", ".join(dict.fromkeys(hook.name for hook in refused))
        screen.warning(f"open, so not trusted: {names}; look at it, and pass --accept-open NAME")
    return 1 if changes else 0


def _refuse_broken(places: Sequence[str]) -> None:
    """Raise CommandError for settings that cannot be reviewed: they may contain a guard."""
    if places:
        raise CommandError(
            f"{places[0]} cannot be read, so its hooks cannot be reviewed; fix it first, or "
            "`hookline untrust` takes the whole review back"
        )


def _find_tests(project: str, screen: Screen) -> list[str]:
    """Return the hook tests that bring code: it is reviewed with the project."""
    tests = []
    try:
        for file in find_test_files(project):
            try:
                if brings_code(file):
                    tests.append(file)
            except HookTestError as error:
                screen.warning(str(error))
    except HookTestError as error:
        screen.warning(str(error))
    return tests


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
        screen.line(f"{question} [y/N]")
        screen.flush()
        answer = sys.stdin.readline()
    finally:
        if not answer.endswith("\n"):
            screen.line()
    return answer.strip().lower() in ("y", "yes")


def refuse_settings(options: Options) -> None:
    """Raise CommandError for settings files, which are not a project's."""
    if options.settings:
        raise CommandError("files given with --settings are your own and need no trust")


def _show(
    screen: Screen, draft: ReviewDraft, record: ReviewRecord | None, changes: Sequence[str]
) -> None:
    """Show the hooks and what they name; beside what was trusted before, the differences."""
    now = draft.review
    hooks, files = count(len(now.hooks), "hook"), count(len(now.files), "file")
    screen.line((now.project, "title"), f"  {hooks}, {files}")
    screen.line()
    if record is None:
        for hook in now.hooks:
            matcher = hook.entry.get("matcher", "")
            screen.line((hook.event, "name"), (f"  {matcher}", "matcher"))
            for line in _describe_hook(hook):
                screen.quote(line)
        for line in _describe_project(now):
            screen.quote(line)
        for name, file in now.files.items():
            screen.line()
            screen.line((name, "name"), ("  can be executed" if file.executable else "", "faint"))
            for line in _lines_of(file, draft.contents.get(name, b"")):
                screen.quote(line)
        screen.line()
    else:
        _show_changes(screen, draft, record, changes)
    hints = dict.fromkeys(hint for hook in now.hooks for hint in hook.hints)
    for hint in hints:
        screen.line((f"look at: {hint}", "care"))
    if hints:
        screen.line()
    _show_open(screen, now.hooks)


def _show_changes(
    screen: Screen, draft: ReviewDraft, record: ReviewRecord, changes: Sequence[str]
) -> None:
    """Show what differs from the copy of the last review: entries and lines."""
    now, former = draft.review, record.review
    screen.line(f"changed since it was trusted on {former.trusted_at}:", indent=2)
    for change in changes:
        screen.quote(change)
    screen.line()
    _show_entries(screen, former, now)
    _show_diff(screen, _describe_project(former), _describe_project(now))
    for name in sorted({**former.files, **now.files}):
        before, after = former.files.get(name), now.files.get(name)
        if before == after:
            continue
        word = "new" if before is None else "leaves" if after is None else ""
        if before is not None and after is not None and before.executable != after.executable:
            word = "can be executed now" if after.executable else "cannot be executed any more"
        screen.line((name, "name"), (f"  {word}" if word else "", "care"))
        try:
            old = b"" if before is None or before.kind != "file" else record.read_copy(name)
        except TrustError as error:
            screen.warning(str(error))
            old = b""
        _show_diff(
            screen,
            [] if before is None else _lines_of(before, old),
            [] if after is None else _lines_of(after, draft.contents.get(name, b"")),
        )


def _show_entries(screen: Screen, former: Review, now: Review) -> None:
    """Show the entries that are new, that leave and that differ, hook by hook."""
    keys = dict.fromkeys((hook.event, hook.name) for hook in (*now.hooks, *former.hooks))
    for event, name in keys:
        before, after = (
            [
                line
                for hook in reviewed.hooks
                if (hook.event, hook.name) == (event, name)
                for line in (f"matcher: {hook.entry.get('matcher', '*')}", *_describe_hook(hook))
            ]
            for reviewed in (former, now)
        )
        if before == after:
            continue
        word = "new" if not before else "removed" if not after else "changed"
        screen.line((f"{event} {name}", "name"), (f"  {word}", "care"))
        _show_diff(screen, before, after)


def _show_open(screen: Screen, hooks: Sequence[ReviewedHook]) -> None:
    """Show the hooks that no review vouches for, each with the closed form that would do."""
    for hook in hooks:
        if not hook.why_open:
            continue
        screen.line((f"{hook.event} {hook.name}", "name"))
        if hook.form.named or not hook.form.open:
            screen.line(("open: ", "bad"), CHANGES, indent=2)
            screen.quote(hook.why_open)
        else:
            screen.line(("open: ", "bad"), hook.why_open, indent=2)
        if hook.remedy:
            screen.line((f"closed would be: {hook.remedy}", "faint"), indent=4)
        screen.line()


def _show_diff(screen: Screen, before: Sequence[str], after: Sequence[str]) -> None:
    lines = diff(before, after, around=2)
    for line in lines:
        screen.quote((line, DIFF_ROLES.get(line[:1], "")))
    if lines:
        screen.line()


def _lines_of(file: ReviewedFile, content: bytes) -> list[str]:
    """Return the lines to show for a file: its text, or one line that says what it is instead."""
    if file.kind != "file":
        return [{"directory": "a folder", "absent": "it is not there"}.get(file.kind, "a device")]
    if len(content) > _MOST_SHOWN or b"\0" in content:
        return [f"{file.size} bytes that are no text, {file.digest}"]
    text = content.decode("utf-8", "backslashreplace")
    return text.removesuffix("\n").split("\n") if text else []


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
    """Return what would be run, sent or asked, with the variables it is given and what else is
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
    covered_keys = {"event", "matcher", "command", "args", "env", "prompt", "url", "headers"}
    covered_keys |= {"allowed_env", "type", *(["name"] if entry.get("name") == command else [])}
    labels = {"condition": "if", "background": "async", "plugin_root": "plugin"}
    labels |= {"dialect_event": "event in Claude Code", "continue_on_block": "continueOnBlock"}
    more = {name: value for name, value in entry.items() if name not in covered_keys}
    if not hook.enabled:
        more["disabled"] = "by the project"
    return [
        *command.splitlines(),
        *(f"{name}={value}" for name, value in entry.get("env", {}).items()),
        *(f"{labels.get(name, name)}: {value}" for name, value in more.items()),
        *_describe_start(hook),
    ]


def _describe_start(hook: ReviewedHook) -> Iterator[str]:
    """Yield how a command is started: what runs it, and which of its words are live data."""
    form = hook.form
    if form.open or not form.script:
        return
    if form.interpreter:
        yield f"run by: {' '.join(form.interpreter)}"
    if hook.is_guard and not hook.why_open:
        yield "runs from the copy that this review makes"
    data = [each.text for each in form.arguments if each.file not in hook.files]
    if data:
        yield f"arguments, not covered: {' '.join(data)}"


def _quote(text: str) -> str:
    import shlex

    return shlex.quote(text)
