"""Puts the layers together: who may disable whom, whose redaction counts, who is trusted."""

from collections.abc import Callable, Sequence

import msgspec

from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.redaction import Redaction
from hookline.pipeline.settings import Layer
from hookline.problem import Problem
from hookline.wire.hooks import HookConfig, HookSource


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All layers together: the hooks, and what governs them.

    ``enabled`` is False when no hook may run; ``only_managed`` when the user switched hooks off
    but the system has hooks that cannot be. ``trace`` asks for a record of what hooks do.
    """

    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool = True
    only_managed: bool = False
    redaction: Redaction = Redaction()
    trace: bool = False
    problems: tuple[Problem, ...] = ()


def combine(
    layers: Sequence[Layer],
    *,
    disabled: Sequence[str] = (),
    trusted: Callable[[HookConfig], bool],
) -> Settings:
    """One settings value of many layers; ``disabled`` are further names of the user's, and
    ``trusted`` says which of the project's hooks may run."""
    on: dict[HookSource, bool] = {}
    off: dict[HookSource, set[str]] = {HookSource.USER: set(disabled)}
    redactions: dict[HookSource, Redaction] = {}
    for layer in layers:
        if layer.enabled is not None:
            on.setdefault(layer.source, layer.enabled)
        if layer.redaction is not None:
            redactions.setdefault(layer.source, layer.redaction)
        off.setdefault(layer.source, set()).update(layer.disabled)

    def runs(hook: HookConfig) -> bool:
        # A layer reaches itself and what is trusted less.
        reaching = [HookSource.SYSTEM]
        if not hook.managed:
            reaching.append(HookSource.USER)
            reaching += [HookSource.PROJECT] if hook.source is HookSource.PROJECT else []
        return all(on.get(s, True) and hook.name not in off.get(s, ()) for s in reaching)

    entries = tuple(
        msgspec.structs.replace(
            entry,
            enabled=runs(entry.hook),
            trusted=layer.source is not HookSource.PROJECT or trusted(entry.hook),
        )
        for layer in layers
        for entry in layer.entries
    )
    managed = any(entry.hook.managed and entry.enabled for entry in entries)
    problems = [problem for layer in layers for problem in layer.problems]
    held_back = sum(1 for entry in entries if not entry.trusted and entry.enabled)
    if held_back:
        are, them = ("hook is", "it") if held_back == 1 else ("hooks are", "them")
        message = f"{held_back} project {are} not trusted and will not run"
        remedy = f"review {them} with `hookline trust`"
        problems.append(Problem(kind="untrusted", file="trust", message=message, remedy=remedy))
    # The system's word on redaction stands; the user may only ask for more to be kept back.
    system, user = redactions.get(HookSource.SYSTEM), redactions.get(HookSource.USER)
    redaction = system or user or Redaction()
    if system is not None and user is not None:
        blocked = (*system.blocked, *user.blocked)
        redaction = msgspec.structs.replace(system, blocked=blocked) if system.enabled else user
    user_on = on.get(HookSource.USER, True)
    return Settings(
        entries=entries,
        enabled=on.get(HookSource.SYSTEM, True) and (user_on or managed),
        only_managed=not user_on,
        redaction=redaction,
        trace=next((layer.trace for layer in layers if layer.trace is not None), False),
        problems=tuple(problems),
    )
