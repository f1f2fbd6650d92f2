"""Values of a hook's fields that the engine takes and the author hardly meant."""

import re
from collections.abc import Iterator, Mapping

from hookline.check.findings import Finding, Replace, Severity
from hookline.check.near import only_one
from hookline.check.reading import Checked, HookSite, RawHook, raw_hooks
from hookline.pipeline.programs import hook_variables
from hookline.pipeline.shell import NAME, VARIABLE

# No process can be relied on to be done in so few milliseconds, and people wait that many seconds.
_SURELY_SECONDS = 60
# Round in seconds and odd in milliseconds, but possible.
_ROUND_SECONDS = frozenset({90, 120, 180, 240, 300, 600, 900})
_HOUR = 3_600_000

# Words that are something to a shell when they stand alone, or by how they begin.
_SHELL_WORDS = r"[|&;<>]+|\d?>.*|<.+|&>.*|~(?:/.*)?|.*(?:\$\(|`).*"
_GLOB = r"[^=\\]*(?:\*|\?)[^\\]*"


def types(checked: Checked) -> Iterator[Finding]:
    """Objects with a command that do not say what they are."""
    for file in checked.files:
        for raw in raw_hooks(file):
            kind = raw.config.get("type")
            if kind == "command" or not isinstance(raw.config.get("command"), str):
                continue
            if "type" not in raw.config:
                yield _untyped(raw)
            elif isinstance(kind, str) and only_one(kind, ["command"]):
                yield file.finding(
                    "type",
                    Severity.ERROR,
                    raw.path,
                    f"the type {kind!r} is unknown, so the hook is skipped",
                    'write "command"',
                    at=(*raw.path, "type"),
                    fixes=file.replaced((*raw.path, "type"), "command"),
                    event=raw.key,
                )


def _untyped(raw: RawHook) -> Finding:
    file, text = raw.file, raw.file.document.text
    first = file.spans[(*raw.path, next(iter(raw.config)))].key
    # The first key keeps its line and what stands before it: the new one takes its place.
    before = text[text.rfind("\n", 0, first) + 1 : first]
    newline = "\r\n" if "\r\n" in text else "\n"
    end = newline + before if not before.strip() else " "
    return file.finding(
        "type",
        Severity.ERROR,
        raw.path,
        "the hook has no type and is skipped",
        'add "type": "command"',
        fixes=(Replace(file.path, first, first, f'"type": "command",{end}'),),
        event=raw.key,
    )


def timeouts(checked: Checked) -> Iterator[Finding]:
    """Times that were hardly meant in the unit they are in."""
    for site in checked.hooks:
        value = site.raw.config.get("timeout")
        in_milliseconds = site.file.dialect.timeout_ms(1) == 1
        if isinstance(value, bool) or not isinstance(value, int | float) or not in_milliseconds:
            continue
        if 0 < value < 100 or value in _ROUND_SECONDS:
            yield _seconds(site, value)
        elif value > _HOUR:
            hours = value / _HOUR
            what = f"timeout {value} is {hours:.3g} hours, as timeouts are in milliseconds"
            remedy = "an agent waits that long for its hook: write a shorter one"
            yield site.finding("timeout-long", Severity.HINT, ("timeout",), what, remedy)


def _seconds(site: HookSite, value: float) -> Finding:
    sure = value <= _SURELY_SECONDS
    thousandfold = round(value * 1000)
    return site.finding(
        "timeout-seconds",
        Severity.WARNING if value < 100 else Severity.HINT,
        ("timeout",),
        f"timeout {value:g} is in milliseconds, and looks like seconds",
        f"write {thousandfold} for {value:g} s",
        fixes=site.file.replaced((*site.raw.path, "timeout"), thousandfold) if sure else (),
    )


def environments(checked: Checked) -> Iterator[Finding]:
    """Variables that will not hold what is written, or that a shell cannot name."""
    ours = hook_variables(project_dir="", cwd="", session_id="", event="")
    for site in checked.hooks:
        for name, value in site.hook.env.items():
            if not re.fullmatch(NAME, name):
                what = f"no shell can read a variable called {name!r}"
                remedy = "use letters, digits and underscores"
            elif name in ours:
                what = f"{name} is set for every hook, and this one gets another value"
                remedy = "choose another name"
            elif found := re.search(VARIABLE, value):
                what = f"{name} gets {found[0]} as it stands: values of env are not expanded"
                remedy = "set it in the script, or in the command"
            elif value.startswith("~/"):
                what = f"{name} gets ~ as it stands: values of env are not expanded"
                remedy = "write the whole path"
            else:
                continue
            severity = Severity.HINT if not re.fullmatch(NAME, name) else Severity.WARNING
            yield site.finding("env", severity, ("env", name), what, remedy)


def arguments(checked: Checked) -> Iterator[Finding]:
    """With ``args`` there is no shell; what only a shell understands stays as it is."""
    for site in checked.hooks:
        known = {
            **hook_variables(project_dir="", cwd="", session_id="", event=""),
            **site.hook.env,
        }
        for index, word in enumerate(site.hook.args or ()):
            if what := _for_a_shell(word, known):
                remedy = "leave args out and write the whole line as the command"
                yield site.finding("args-shell", Severity.WARNING, ("args", index), what, remedy)


def _for_a_shell(word: str, known: Mapping[str, str]) -> str | None:
    for found in re.finditer(VARIABLE, word):
        name = found[1] or found[2]
        if name not in known:
            return f"{found[0]} stays as it is: with args only the hook's own variables are put in"
    if re.fullmatch(_SHELL_WORDS, word, re.DOTALL):
        return f"{word!r} stays as it is: with args there is no shell"
    if re.fullmatch(_GLOB, word) and ("/" in word or word.startswith("*.")):
        return f"{word!r} stays as it is: with args there is no shell to look for files"
    return None
