"""Hooks that will not run because settings say so, and settings that reach no hook."""

from collections.abc import Iterator

from hookline.check.findings import Finding, Severity
from hookline.check.near import only_one, question
from hookline.check.reading import Checked, CheckedFile, HookSite, raw_hooks
from hookline.pipeline.jsonc import Path
from hookline.pipeline.settings import DISABLED_NAMES, SWITCHES
from hookline.wire.hooks import HookSource


def switches(checked: Checked) -> Iterator[Finding]:
    """Files that disable hooks altogether, and whether that reaches any."""
    for file in checked.files:
        for path in SWITCHES:
            if file.value(path) is False:
                yield _switched_off(file, path, checked)


def _switched_off(file: CheckedFile, path: Path, checked: Checked) -> Finding:
    reached = [site for site in checked.hooks if _reaches(file.source, site)]
    others = len(checked.hooks) - len(reached)
    name = ".".join(map(str, path))
    if file.source is HookSource.PROJECT and not reached and others:
        what = f"{name} of a project reaches its own hooks alone, and it has none"
        remedy = "disable the others in the user's settings"
        return file.finding("disables-others", Severity.WARNING, path, what, remedy)
    runs = "1 hook does not run" if len(reached) == 1 else f"{len(reached)} hooks do not run"
    what = f"hooks are disabled here: {runs}" if reached else "hooks are disabled here"
    return file.finding("disabled", Severity.HINT, path, what, "remove it to enable them")


def disabled_names(checked: Checked) -> Iterator[Finding]:
    """Names among the disabled that disable nothing."""
    for file in checked.files:
        for path in DISABLED_NAMES:
            names = file.value(path)
            for index, name in enumerate(names) if isinstance(names, list) else ():
                if isinstance(name, str):
                    found = _disables_nothing(file, (*path, index), name, checked)
                    if found is not None:
                        yield found


def _disables_nothing(file: CheckedFile, path: Path, name: str, checked: Checked) -> Finding | None:
    named = [site for site in checked.hooks if site.hook.name == name]
    if any(_reaches(file.source, site) for site in named):
        return None
    if named:
        whose = f"the {named[0].hook.source.value}'s"
        if named[0].hook.managed:
            what = f"{name!r} is managed by the system and cannot be disabled here"
            remedy = "ask who looks after this machine"
        else:
            what = f"{name!r} is {whose} hook, which a project cannot disable"
            remedy = "disable it in the user's settings"
        return file.finding("disables-others", Severity.WARNING, path, what, remedy, hook=name)
    known = {site.hook.name for site in checked.hooks if _reaches(file.source, site)}
    one = only_one(name, known)
    remedy = question(name, known) or "remove it"
    # What the user disables may be a hook of another project.
    is_project = file.source is HookSource.PROJECT
    return file.finding(
        "disabled-unknown",
        Severity.WARNING if is_project or one else Severity.HINT,
        path,
        f"no hook is called {name!r}" if is_project else f"no hook is called {name!r} here",
        remedy if is_project or one else "fine for a hook of another project",
        fixes=file.replaced(path, one) if one and is_project else (),
        hook=name,
    )


def _reaches(source: HookSource, site: HookSite) -> bool:
    if source is HookSource.SYSTEM:
        return True
    if source is HookSource.PROJECT:
        return site.hook.source is HookSource.PROJECT
    return not site.hook.managed


def disabled_hooks(checked: Checked) -> Iterator[Finding]:
    """Hooks that are disabled by name, with the place that does it."""
    for site in checked.hooks:
        place = None if site.entry.enabled else _disabled_by_name(site, checked)
        if place is not None:
            what = f"the hook is disabled in {place} and does not run"
            remedy = "remove its name there to enable it"
            yield site.finding("disabled", Severity.HINT, (), what, remedy)


def _disabled_by_name(site: HookSite, checked: Checked) -> str | None:
    for file in checked.files:
        if not _reaches(file.source, site):
            continue
        for path in DISABLED_NAMES:
            names = file.value(path)
            if isinstance(names, list) and site.hook.name in names:
                line, _ = file.document.place((*path, names.index(site.hook.name)))
                return f"line {line}" if file is site.file else f"{file.path}:{line}"
    return None


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
