"""The composition root: an engine owns everything with a lifetime, wired once when it opens.

It opens with the first event, or when somebody wants its hook system. The settings are read then,
and what they mean for events is worked out, so that an event asks nothing back.
"""

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline._support.notices import warn
from hookline._support.problem import Problem
from hookline.engine.executor import (
    Executor,
    LateEnds,
    LocalExecutor,
    deny_failed,
    is_exhausted,
)
from hookline.engine.options import HookOptions, Options, refuse_unknown
from hookline.engine.project import Project
from hookline.errors import HooklineError, InvalidHookError, describe, message_of
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.answer import Answer, process_common_hook_output_fields
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.registry import (
    HookRegistry,
    HookRegistryEntry,
    HookSnapshot,
    Rules,
    explain_missing,
)
from hookline.runner.loop import PollLoop, run_at_once, run_blocking
from hookline.runner.runner import HookRunner
from hookline.settings.reader import (
    EffectiveSettings,
    Required,
    make_entry,
    runtime_hook,
    settings_hook,
)
from hookline.trace.records import DebugLogger
from hookline.wire.events import EventName, narrow_event
from hookline.wire.fired import FiredEvent
from hookline.wire.hooks import HookConfig, HookFunction, HookSource
from hookline.wire.results import FailureMeta, HookExecutionResult, build_failure_envelope

# Modules for a bus or a watch are loaded only when one is used.
if TYPE_CHECKING:
    from typing import Unpack

    from hookline._support.watch import FileWatch
    from hookline.bus.messages import MessageBus
    from hookline.engine.remote import RemoteExecutor, RemoteFiring
    from hookline.engine.serving import BusServer
    from hookline.translate import HookTranslator
    from hookline.trust.policy import Policy

T = TypeVar("T")

# What people are told once a process.
_NOTICES: set[str] = set()


class ReloadReport(msgspec.Struct, frozen=True):
    """What a reload found; a broken file keeps the hooks it last gave. ``refused`` says why the
    new settings are not used, "" if they are."""

    total_hooks: int
    problems: tuple[Problem, ...] = ()
    refused: str = ""


class SettingsRefusedError(HooklineError):
    """The engine's ``accept`` callback refused the settings."""


class Engine:
    """Runs the hooks of a project, for any number of threads and event loops at once.

    With ``watch`` it reloads when a settings file changes; that needs the extra ``watch``.
    ``on_reload`` is called with the report of each such reload, from the watch's own thread.
    ``accept`` returns why settings must not be used, None if they may; if it refuses them,
    ``load()`` raises SettingsRefusedError, and a reload keeps the current hooks. ``message_bus``,
    ``debug_logger`` and ``translator`` replace those of the project's options.
    """

    log: DebugLogger
    runner: HookRunner
    local: LocalExecutor
    executor: Executor

    def __init__(
        self,
        project: Project,
        *,
        message_bus: "MessageBus | None" = None,
        debug_logger: DebugLogger | None = None,
        translator: "HookTranslator | None" = None,
        watch: bool = False,
        on_reload: Callable[[ReloadReport], object] | None = None,
        accept: Callable[[EffectiveSettings], str | None] = lambda _settings: None,
    ) -> None:
        self.project = project
        self.registry: HookRegistry = HookRegistry()
        # Wrapped tools by name: a hook can ask for one of them as a tail call.
        self.tools: dict[str, Callable[..., Any]] = {}
        self.problems: tuple[Problem, ...] = ()
        self.is_loaded: bool = False
        self._is_open = False
        self._bus = project.options.message_bus if message_bus is None else message_bus
        self._own_log, self._own_translator = debug_logger, translator
        self._lock = threading.RLock()
        self._runtime_enabled = True
        self._is_watching = watch
        self._on_reload = on_reload
        self._accept = accept
        self._watch: FileWatch | None = None
        self._policy: tuple[HookSnapshot | None, Policy | None] = (None, None)
        self._firing = _read_remote(project.options)
        self._remote: RemoteExecutor | None = None
        self._server: BusServer | None = None

    def open(self) -> None:
        """Build the parts, once, and serve the bus if there is one; the hooks are not loaded."""
        if not self._is_open:
            with self._lock:
                if not self._is_open:
                    self._build()

    def _build(self) -> None:
        project, log = self.project, self.get_log()
        self.log, self._ends = log, LateEnds(log)
        self.runner = HookRunner(warn=log.warning, on_end=self._ends.tell)
        self.local = LocalExecutor(
            project,
            HookPlanner(self.registry, warn=log.warning, why_untrusted=project.why_untrusted),
            self.runner,
            HookAggregator(),
            translator=self._own_translator,
            debug_logger=log,
            late_ends=self._ends,
        )
        if self._firing is not None:
            from hookline.engine.remote import RemoteExecutor

            self._remote = RemoteExecutor(self.local, self._firing, find_missing=self._find_missing)
        self.executor = self._remote or self.local
        if self._bus is not None:
            self.get_server()
        self._is_open = True

    def get_server(self) -> "BusServer":
        """Return what serves the bus; it is made with the engine if there is a bus, else on first
        use, as most callers fire through the front."""
        with self._lock:
            if self._server is None:
                from hookline.engine.serving import BusServer

                self._server = BusServer(self, self._bus)
            return self._server

    def load(self) -> None:
        """Load the hooks, once, and again after a new review of the project; concurrent callers
        wait until they are loaded."""
        # The settings are a few small files, so one plain lock for all threads and loops will do.
        if self.is_loaded:
            trust = self.project.folder_trust
            if trust is not None and trust.is_stale():
                self.reload()
            return
        self.open()
        with self._lock:
            if not self.is_loaded:
                settings = self.project.get_settings()
                if (refused := self._accept(settings)) is not None:
                    raise SettingsRefusedError(refused)
                self._load_hooks(settings)
                if self._is_watching and self._watch is None:
                    self._start_watch()
                self.is_loaded = True

    def reload(self) -> ReloadReport:
        """Read the settings again and replace the hooks in one step; events under way finish with
        the old ones."""
        self.open()
        with self._lock:
            before = self.project.get_settings()
            settings = self.project.read_settings()
            refused = self._accept(settings)
            if refused is None:
                self._load_hooks(settings)
                # A warm process belongs to the review that it was started with.
                self.runner.end_warm()
            elif not self.is_loaded:
                raise SettingsRefusedError(refused)
            else:
                self.project.keep_settings(before)
                problem = f"the changed settings are not used: {refused}"
                self.warn(f"{problem}; the last good ones stay in force")
            self.is_loaded = True
        return ReloadReport(self.registry.count(), settings.problems, refused or "")

    def dispose(self) -> None:
        """Stop serving the bus, and end helper processes and async hooks: they are gone when this
        returns, and none starts afterwards. Calls under way finish. May be called more than
        once."""
        self._is_watching = False
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
        if self._is_open:
            # Not under the lock: listeners of async hooks that end may call back.
            if self._server is not None:
                self._server.close()
            self.runner.dispose()

    async def execute(self, fired: FiredEvent) -> Answer:
        """Carry out an event; the first one reads the settings. Only cancellation is raised."""
        try:
            self.load()
        except Exception as error:
            return self._judge_failure(error, "planning", fired)
        return await self.executor.execute(fired)

    def execute_blocking(self, fired: FiredEvent) -> Answer:
        """Do what ``execute`` does, for synchronous callers, with or without an event loop in this
        thread.

        An event that no hook matches starts neither a loop nor a thread. A loop that runs in this
        thread is blocked until the hooks have answered.
        """
        stage = "planning"
        try:
            self.load()
            answer = self.executor.answer_at_once(fired)
            if answer is not None:
                return answer
            stage = "execution"
            if self.executor.needs_no_loop(fired):
                return run_at_once(self.executor.execute(fired))
            if not self.executor.needs_asyncio(fired):
                return PollLoop().run(self.executor.execute(fired))
            return run_blocking(lambda: self.executor.execute(fired))
        except Exception as error:
            # A loop needs file descriptors, and starting a thread can fail.
            return self._judge_failure(error, stage, fired)

    def fail(self, error: Exception, stage: str, fired: FiredEvent | None) -> Answer:
        """Warn, and return the answer to an event that could not be fired; it denies if a hook
        must answer."""
        # The hooks say whether one must; if they cannot be loaded, the event's own failure is the
        # one to report.
        with suppress(Exception):
            if not self.is_off():
                self.load()
        return self._judge_failure(error, stage, fired)

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        if self.is_off():
            return False
        try:
            self.load()
        except Exception:
            return True
        return self.executor.may_answer(event, target)

    def may_decide(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would judge or change such an event now; hooks that
        nobody waits for may still observe it."""
        if self.is_off():
            return False
        try:
            self.load()
        except Exception:
            return True
        return self.executor.may_decide(event, target)

    def is_off(self) -> bool:
        """True if code or settings switch all hooks off; False if the settings cannot be read."""
        try:
            return self.project.is_off()
        except Exception:
            return False

    def get_translator(self) -> "HookTranslator":
        """Return the translator between the model SDK's types and what hooks read."""
        return self._own_translator or self.project.get_translator()

    def warn(self, message: str, kind: str = "") -> None:
        """Log a warning; if there can be no log, tell people all the same."""
        try:
            log = self.get_log()
        except Exception:
            warn(message)
        else:
            log.warning(message, kind=kind)

    def get_log(self) -> DebugLogger:
        """Return the logger that records what hooks did."""
        return self.project.get_log() if self._own_log is None else self._own_log

    def get_policy_digest(self) -> str:
        """Return a digest of all hooks in force and of everything that a review of them covers.
        Files are read again when they have changed."""
        snapshot = self.registry.snapshot()
        of_snapshot, policy = self._policy
        if policy is None or of_snapshot is not snapshot or not policy.is_current():
            from hookline.trust.policy import Policy

            policy = Policy.read(
                [entry for entry in snapshot.entries if entry.enabled and entry.trusted],
                project_dir=self.project.project_dir,
                cwd=self.project.working_dir,
                get_files=self.project.get_reviewed_files,
            )
            self._policy = (snapshot, policy)
        return policy.digest

    def explain_missing(self, names: Iterable[str]) -> dict[str, str]:
        """Return those of the hooks that a caller on a bus requires (``name``, or ``layer:name``)
        that are not in force, each with the reason."""
        missing = self._find_missing(Required.read(name, HookSource) for name in names)
        return {demand.text: why for demand, why in missing.items()}

    def _find_missing(self, required: Iterable[Required]) -> Mapping[Required, str]:
        return explain_missing(self.registry.get_all_hooks(), required)

    def count_unchecked(self) -> dict[str, int]:
        """Return how many events went on without the hooks of a worker, by the code of the
        outage."""
        return {} if self._remote is None else self._remote.count_unchecked()

    def add_hook(self, entry: HookRegistryEntry) -> Callable[[], None]:
        """Register a hook as ``read_hook`` returned it; call the returned function to remove it."""
        trusted = entry.hook.source is not HookSource.PROJECT or self.project.adopts(entry.hook)
        return self.registry.register(
            msgspec.structs.replace(entry, enabled=self._runtime_enabled, trusted=trusted)
        )

    def follow_background(self, ended: list[HookExecutionResult]) -> None:
        """Add the result of each async hook to ``ended`` when it ends, from now on."""
        self._ends.listeners.append(ended.append)

    def wait_for_background(self, timeout: float | None = None) -> bool:
        """Block until all async hooks have ended; return False if some still run after
        ``timeout`` seconds."""
        return not self._is_open or self.runner.wait_for_background(timeout)

    def _judge_failure(self, error: Exception, stage: str, fired: FiredEvent | None) -> Answer:
        is_off = self.is_off()
        if self._is_open and not is_off:
            return self.executor.judge_failure(self.local.fail(error, stage, fired))
        warn(f"hooks did not run: {describe(error)}")
        meta = FailureMeta(event_name=fired.event if fired is not None else None)
        envelope = build_failure_envelope(error, stage, meta)
        is_strict = fired is not None and self.project.in_force.strict
        if not is_off and (is_strict or is_exhausted(error)):
            return deny_failed(envelope, fired, self.get_translator)
        return process_common_hook_output_fields(envelope, fired)

    def _start_watch(self) -> None:
        from hookline._support.watch import FileWatch

        # The watch's thread must not keep the engine alive when nobody else refers to it.
        reference, warn_of = weakref.ref(self), self.log.warning

        def reload() -> None:
            engine = reference()
            if engine is None:
                return
            report = engine.reload()
            try:
                if engine._on_reload is not None:
                    engine._on_reload(report)
            except Exception as error:
                warn_of(f"the on_reload callback raised: {message_of(error)}")

        self._watch = FileWatch(self.project.list_files(), reload, warn_of)
        weakref.finalize(self, self._watch.stop)

    def _load_hooks(self, settings: EffectiveSettings) -> None:
        broken = [
            f"{fault.place}: {fault.message}"
            for fault in settings.problems
            if fault.broken or fault.skipped
        ]
        # Over a bus the worker must have the required hooks.
        required = settings.required if self._firing is None else ()
        rules = Rules(self.project.in_force.strict, required, "; ".join(broken))
        self.registry.load(settings.entries, rules)
        enabled = settings.enabled and not settings.only_managed
        if enabled is not self._runtime_enabled:
            # Settings that switch all hooks off also switch off those registered in code.
            self._runtime_enabled = enabled
            self.registry.set_layer_enabled(HookSource.RUNTIME, enabled)
        self.problems = settings.problems
        for problem in settings.problems:
            # People are told of a guard that goes on as it was reviewed once a process.
            if problem.kind != "guard-kept":
                self.log.warning(str(problem))
            elif str(problem) not in _NOTICES:
                _NOTICES.add(str(problem))
                self.log.warning(str(problem))


def _read_remote(options: Options) -> "RemoteFiring | None":
    bus, execution, meaning = options.remote_bus, options.execution, options.on_unavailable
    if bus is None and execution in (None, "local") and meaning == "allow":
        return None
    from hookline.engine.remote import remote_firing

    return remote_firing(
        bus, execution=execution, on_unavailable=meaning, timeout=options.remote_timeout
    )


def read_hook(
    event: str | EventName,
    hook: HookFunction | Mapping[str, Any],
    *,
    source: HookSource | str = HookSource.RUNTIME,
    **options: "Unpack[HookOptions]",
) -> HookRegistryEntry:
    """Read a hook that code registers; raises UnknownEventError, and InvalidHookError for a hook
    that could never run, or whose matcher is no pattern."""
    refuse_unknown(options, HookOptions.__annotations__, "a hook")
    narrowed = narrow_event(event)
    try:
        layer = HookSource(source)
    except ValueError:
        layers = ", ".join(layer.value for layer in HookSource)
        problem = f"the source must be one of {layers}, not {source!r}"
        raise InvalidHookError(problem) from None
    fields = {
        "name": options.get("name") or None,
        "timeout": options.get("timeout"),
        "onFailure": options.get("on_failure"),
    }
    own = {key: value for key, value in fields.items() if value is not None}
    if options.get("inline"):
        own["inline"] = True
        if isinstance(hook, Mapping) and hook.get("type") != "runtime":
            raise InvalidHookError("inline is for functions; this hook is a mapping of settings")
    if not isinstance(hook, Mapping):
        named = {"name": _name_function(hook), "function": hook, **own}
        config: HookConfig = runtime_hook(named, source=layer)
    elif hook.get("type") == "runtime":
        config = runtime_hook({**hook, **own}, source=layer)
    else:
        config = settings_hook({**hook, **own}, source=layer)
    matcher = options.get("matcher")
    if matcher is not None and not isinstance(matcher, str):
        raise InvalidHookError(f"the matcher of {config.name!r} must be a string")
    text = msgspec.UNSET if matcher is None else matcher
    sequential = options.get("sequential", False)
    entry, fault = make_entry(narrowed, config, text, sequential=sequential)
    if fault is not None:
        raise InvalidHookError(f"the matcher of {config.name!r}: {fault.message}; correct it")
    return entry


def _name_function(function: Any) -> str:
    """Return a function's name, with that of its class; a factory is no part of it."""
    while isinstance(function, partial):
        function = function.func
    name, path = getattr(function, "__name__", ""), getattr(function, "__qualname__", "")
    local = path.rpartition("<locals>.")[2]
    # Who renames a function may leave its path as it was.
    return (local if local.rpartition(".")[2] == name else name) or type(function).__name__
