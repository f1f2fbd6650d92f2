"""Python scripts that could be kept warm, and hooks that ask for it and cannot be."""

from collections.abc import Iterator

from hookline.check.commands import argv_without_shell
from hookline.check.findings import Finding, Severity
from hookline.check.reading import Checked, HookSite
from hookline.check.scripts import found_scripts


def warmth(checked: Checked) -> Iterator[Finding]:
    """Hooks whose ``warm`` is missing, or does nothing."""
    for site, _, script in found_scripts(checked):
        asked = site.raw.config.get("warm")
        is_python = script is not None and script.kind == "python"
        if asked is True and (why := _why_cold(site, checked)) is not None:
            what = f"the hook asks to be warm and runs cold, because {why}"
            remedy = 'write it as "python3 SCRIPT", or remove warm'
            yield site.finding("warm", Severity.WARNING, ("warm",), what, remedy)
        elif asked is None and is_python and _why_cold(site, checked) is None:
            what = "this Python script would start in a millisecond or two if it were kept warm"
            yield site.finding("warm", Severity.HINT, ("command",), what, 'add "warm": true')


def _why_cold(site: HookSite, checked: Checked) -> str | None:
    from hookline.pipeline.runner.warm.script import why_cold

    argv = argv_without_shell(site, checked)
    if argv is None:
        return "its command needs a shell"
    return why_cold(argv, program=argv[0], cwd=checked.cwd)
