"""Hooks that are written twice: the second is dropped, or the same thing is done twice."""

import os
from collections.abc import Iterator

from hookline.check.findings import Finding, Severity
from hookline.check.reading import Checked, HookSite


def duplicates(checked: Checked) -> Iterator[Finding]:
    """Each hook that starts the same on the same event and for the same names as one before."""
    first: dict[object, HookSite] = {}
    for site in checked.hooks:
        if (earlier := first.setdefault(_identity(site), site)) is site:
            continue
        runs = "runs once" if earlier.hook.name == site.hook.name else "runs twice"
        what = f"the same hook is {_place(earlier, beside=site)} already, and {runs}"
        # Settings of several hosts side by side are often copies.
        in_one = earlier.file is site.file
        severity = Severity.WARNING if in_one else Severity.HINT
        yield site.finding("duplicate", severity, (), what, "remove one of them")


def _identity(site: HookSite) -> object:
    hook, matcher = site.hook, site.entry.matcher
    spoken = matcher.strip() if isinstance(matcher, str) else ""
    env = tuple(sorted(hook.env.items()))
    return site.event, "" if spoken == "*" else spoken, hook.command, hook.args, env


def _place(site: HookSite, *, beside: HookSite) -> str:
    if site.file is beside.file:
        return f"on line {site.entry.line}"
    folder = os.path.basename(os.path.dirname(site.file.path))
    return f"in {folder}/{os.path.basename(site.file.path)}:{site.entry.line}"
