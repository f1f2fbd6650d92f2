"""Hooks that do not run because settings say so, or that are written twice, and settings that
reach no hook."""

import os
from collections.abc import Iterator

from hookline.check.findings import Finding, Fix, Severity
from hookline.check.reading import Checked, CheckedFile, HookSite, raw_hooks
from hookline.nearest import ask_which, only_one
from hookline.pipeline.jsonc import Path, spoken
from hookline.pipeline.settings import DISABLED_NAMES, SWITCHES
from hookline.wire.hooks import HookSource


def switches(checked: Checked) -> Iterator[Finding]:
    """Files that disable hooks altogether, and whether that reaches any."""
    for file in checked.files:
        for path in SWITCHES:
            if file.value(path) is not False:
                continue
            reached = [site for site in checked.hooks if _reaches(file.source, site)]
            if file.source is HookSource.PROJECT and checked.hooks and not reached:
                what = f"{spoken(path)} of a project reaches its own hooks alone, and it has none"
                remedy = "disable the others in the user's settings"
                yield file.finding("disables-others", Severity.WARNING, path, what, remedy)
                continue
            what, number = "hooks are disabled here", len(reached)
            if reached:
                what += ": 1 hook does not run" if number == 1 else f": {number} hooks do not run"
            yield file.finding("disabled", Severity.HINT, path, what, "remove it to enable them")


def disabled_names(checked: Checked) -> Iterator[Finding]:
    """Names among the disabled that disable nothing."""
    for file in checked.files:
        for path, name in _disabled_in(file):
            named = [site for site in checked.hooks if site.hook.name == name]
            if any(_reaches(file.source, site) for site in named):
                continue
            fixes: tuple[Fix, ...] = ()
            rule, severity = "disables-others", Severity.WARNING
            if named and named[0].hook.managed:
                what = f"{name!r} is managed by the system and cannot be disabled here"
                remedy = "ask who looks after this machine"
            elif named:
                whose = named[0].hook.source.value
                what = f"{name!r} is the {whose}'s hook, which a project cannot disable"
                remedy = "disable it in the user's settings"
            else:
                known = {site.hook.name for site in checked.hooks if _reaches(file.source, site)}
                one, rule = only_one(name, known), "disabled-unknown"
                what, remedy = f"no hook is called {name!r}", ask_which(name, known) or "remove it"
                if file.source is HookSource.PROJECT:
                    fixes = file.replaced(path, one) if one else ()
                else:
                    what += " here"
                if file.source is not HookSource.PROJECT and not one:
                    # What the user disables may be a hook of another project.
                    severity, remedy = Severity.HINT, "fine for a hook of another project"
            yield file.finding(rule, severity, path, what, remedy, fixes=fixes, hook=name)


def _disabled_in(file: CheckedFile) -> Iterator[tuple[Path, str]]:
    """The names that a file disables, and where each stands."""
    for path in DISABLED_NAMES:
        names = file.value(path)
        for index, name in enumerate(names) if isinstance(names, list) else ():
            if isinstance(name, str):
                yield (*path, index), name


def _reaches(source: HookSource, site: HookSite) -> bool:
    if source is HookSource.SYSTEM:
        return True
    if source is HookSource.PROJECT:
        return site.hook.source is HookSource.PROJECT
    return not site.hook.managed


def disabled_hooks(checked: Checked) -> Iterator[Finding]:
    """Hooks that are disabled by name, with the place that does it."""
    places: dict[str, list[tuple[CheckedFile, int]]] = {}
    for file in checked.files:
        for path, name in _disabled_in(file):
            places.setdefault(name, []).append((file, file.document.place(path)[0]))
    for site in checked.hooks:
        for file, line in places.get(site.hook.name, ()) if not site.entry.enabled else ():
            if _reaches(file.source, site):
                place = f"line {line}" if file is site.file else f"{file.path}:{line}"
                what = f"the hook is disabled in {place} and does not run"
                remedy = "remove its name there to enable it"
                yield site.finding("disabled", Severity.HINT, (), what, remedy)
                break


# What is not for a project to decide, and how to say so.
_NOT_FOR_A_PROJECT: dict[Path, str] = {
    ("security", "environmentVariableRedaction"): "what hooks see of the environment",
    ("hookline", "trace"): "whether its hooks are recorded",
}


def overreach(checked: Checked) -> Iterator[Finding]:
    """Fields that count only in settings that are trusted more."""
    for file in checked.files:
        for path, decision in _NOT_FOR_A_PROJECT.items():
            if file.source is HookSource.PROJECT and file.value(path) is not None:
                what = f"a project does not decide {decision}; this is ignored"
                remedy = "move it into the user's settings"
                yield file.finding("overreach", Severity.WARNING, path, what, remedy, at_key=True)
        for raw in raw_hooks(file):
            if raw.config.get("managed") is True and file.source is not HookSource.SYSTEM:
                what = "only the system's settings can make a hook managed; this is ignored"
                where = (*raw.path, "managed")
                yield file.finding(
                    "overreach", Severity.WARNING, where, what, "remove it", at_key=True
                )


def duplicates(checked: Checked) -> Iterator[Finding]:
    """Each hook that starts the same on the same event and for the same names as one before."""
    first: dict[object, HookSite] = {}
    for site in checked.hooks:
        hook, matcher = site.hook, site.entry.matcher
        names = matcher.strip() if isinstance(matcher, str) else ""
        env = tuple(sorted(hook.env.items()))
        identity = (site.event, "" if names == "*" else names, hook.command, hook.args, env)
        earlier = first.setdefault(identity, site)
        if earlier is site:
            continue
        place, in_one = f"on line {earlier.entry.line}", earlier.file is site.file
        if not in_one:
            folder, file = os.path.split(earlier.file.path)
            place = f"in {os.path.basename(folder)}/{file}:{earlier.entry.line}"
        runs = "runs once" if earlier.hook.name == hook.name else "runs twice"
        what = f"the same hook is {place} already, and {runs}"
        # Settings of several hosts side by side are often copies.
        severity = Severity.WARNING if in_one else Severity.HINT
        yield site.finding("duplicate", severity, (), what, "remove one of them")
