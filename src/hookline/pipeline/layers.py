"""Puts the layers together: who may disable whom, whose redaction counts, who is trusted."""

from collections.abc import Callable, Sequence

import msgspec

from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.settings import Layer
from hookline.problem import Problem
from hookline.wire.hooks import HookConfig, HookSource, Redaction


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
    switches = _Switches(layers, disabled)
    entries = tuple(
        msgspec.structs.replace(
            entry,
            enabled=switches.runs(entry),
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
        problems.append(
            Problem(
                kind="untrusted",
                file="trust",
                message=f"{held_back} project {are} not trusted and will not run",
                remedy=f"review {them} with `hookline trust`",
            )
        )
    return Settings(
        entries=entries,
        enabled=switches.on(HookSource.SYSTEM) and (switches.on(HookSource.USER) or managed),
        only_managed=not switches.on(HookSource.USER),
        redaction=_redaction(layers),
        trace=next((layer.trace for layer in layers if layer.trace is not None), False),
        problems=tuple(problems),
    )


class _Switches:
    """Which hooks the layers switch off; a layer reaches itself and what is trusted less."""

    def __init__(self, layers: Sequence[Layer], disabled: Sequence[str]) -> None:
        self._on: dict[HookSource, bool] = {}
        self._disabled: dict[HookSource, set[str]] = {HookSource.USER: set(disabled)}
        for layer in layers:
            if layer.enabled is not None:
                self._on.setdefault(layer.source, layer.enabled)
            self._disabled.setdefault(layer.source, set()).update(layer.disabled)

    def on(self, source: HookSource) -> bool:
        return self._on.get(source, True)

    def runs(self, entry: HookRegistryEntry) -> bool:
        hook = entry.hook
        if not self._allows(HookSource.SYSTEM, hook.name):
            return False
        if hook.managed:
            return True
        if not self._allows(HookSource.USER, hook.name):
            return False
        return hook.source is not HookSource.PROJECT or self._allows(HookSource.PROJECT, hook.name)

    def _allows(self, source: HookSource, name: str) -> bool:
        return self.on(source) and name not in self._disabled.get(source, ())


def _redaction(layers: Sequence[Layer]) -> Redaction:
    """The system's word stands; the user may only ask for more to be kept back."""
    said: dict[HookSource, Redaction] = {}
    for layer in layers:
        if layer.redaction is not None:
            said.setdefault(layer.source, layer.redaction)
    system, user = said.get(HookSource.SYSTEM), said.get(HookSource.USER)
    if system is None or user is None:
        return system or user or Redaction()
    if not system.enabled:
        return user
    return msgspec.structs.replace(system, blocked=(*system.blocked, *user.blocked))
