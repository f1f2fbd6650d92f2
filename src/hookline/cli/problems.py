"""What is wrong in the settings, told by every verb in the same words."""

from collections.abc import Iterable

from hookline.cli.failures import CommandError
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.nearest import did_you_mean, nearest
from hookline.problem import Problem

MENDING = "`hookline check` says what to mend"


def tell_problems(screen: Screen, problems: Iterable[Problem]) -> bool:
    """A warning for each but those about trust, which are told where hooks are held back; whether
    a whole file was skipped, so that hooks may be missing."""
    told = [problem for problem in problems if problem.kind != "untrusted"]
    for problem in told:
        screen.warning(shown(str(problem)))
    return any(problem.broken for problem in told)


def unknown_hook(name: str, known: Iterable[str], *, is_broken: bool) -> CommandError:
    """The error for a name that no hook has, with the nearest that are there."""
    names = list(dict.fromkeys(known))
    if not names:
        hint = MENDING if is_broken else "`hookline init` makes a first one"
        return CommandError(f"no hook is named {name!r}, for none is configured; {hint}")
    hint = did_you_mean(nearest(name, names)) or "`hookline list` shows the names"
    return CommandError(f"no hook is named {name!r}; {hint}")
