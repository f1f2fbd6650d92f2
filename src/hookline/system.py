"""The composition root: builds the engine's parts once, wires them, and owns their lifetime."""

import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline._support.problem import Problem
from hookline.engine.executor import Executor, LateEnds, LocalExecutor
from hookline.errors import (
    HooklineError,
    HookSystemNotInitializedError,
    InvalidHookError,
    message_of,
)
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.answer import Answer
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.registry import (
    HookRegistry,
    HookRegistryEntry,
    HookSnapshot,
    Rules,
    explain_missing,
)
from hookline.runner.loop import PollLoop, is_running_asyncio
from hookline.runner.runner import HookRunner, RunningHook
from hookline.settings.reader import (
    Required,
    Settings,
    make_entry,
    runtime_hook,
    settings_hook,
)
from hookline.trace.records import DebugLogger
from hookline.wire.events import EventName, narrow_event
from hookline.wire.fired import FiredEvent
from hookline.wire.hooks import HookConfig, HookFunction, HookSource, OnFailure
from hookline.wire.results import HookExecutionResult

# Modules for a bus or a watch are loaded only when one is used.
if TYPE_CHECKING:
    from typing import Unpack

    from hookline._support.watch import FileWatch
    from hookline.bus.messages import MessageBus
    from hookline.config import Config, HookOptions
    from hookline.engine.remote import RemoteExecutor, RemoteFiring
    from hookline.handler import HookEventHandler
    from hookline.translate import HookTranslator
    from hookline.trust.policy import Policy

_TOLD: set[str] = set()
F = TypeVar("F", bound=HookFunction)
T = TypeVar("T")


class HookSystemStatus(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Says whether the system is initialized, and how many hooks it has. ``unchecked`` counts the
    events that went on without the hooks of a worker, by the code of the outage."""

    initialized: bool
    total_hooks: int
    unchecked: dict[str, int] = {}


class ReloadReport(msgspec.Struct, frozen=True):
    """What a reload found; a broken file keeps the hooks it last gave. ``refused`` says why the
    new settings are not used, "" if they are."""

    total_hooks: int
    problems: tuple[Problem, ...] = ()
    refused: str = ""


class SettingsRefusedError(HooklineError):
    """The system's ``accept`` callback refused the settings."""


class HookSystem:
    """One registry, planner, runner, aggregator and event handler, for any number of threads and
    event loops at once. ``async with`` initializes and disposes it.

    With ``watch`` it reloads when a settings file changes; that needs the extra ``watch``.
    ``on_reload`` is called with the report of each such reload, from the watch's own thread.
    ``accept`` returns why settings must not be used, None if they may; if it refuses them,
    ``initialize()`` raises SettingsRefusedError, and a reload keeps the current hooks.
    """

    def __init__(
        self,
        config: "Config",
        *,
        message_bus: "MessageBus | None" = None,
        debug_logger: DebugLogger | None = None,
        translator: "HookTranslator | None" = None,
        watch: bool = False,
        on_reload: Callable[[ReloadReport], object] | None = None,
        accept: Callable[[Settings], str | None] = lambda _settings: None,
    ) -> None:
        self._config = config
        self._log = config.get_debug_logger() if debug_logger is None else debug_logger
        self._load_lock = threading.Lock()
        self._initialized = False
        self._runtime_enabled = True
        self._problems: tuple[Problem, ...] = ()
        self._is_watching = watch
        self._on_reload = on_reload
        self._accept = accept
        self._watch: FileWatch | None = None
        self._policy: tuple[HookSnapshot | None, Policy | None] = (None, None)
        self._registry = HookRegistry()
        self._ends = LateEnds(self._log)
        self._runner = HookRunner(warn=self._log.warning, on_end=self._ends.tell)
        self._local = LocalExecutor(
            config,
            HookPlanner(self._registry, warn=self._log.warning, why_untrusted=config.why_untrusted),
            self._runner,
            HookAggregator(),
            translator=translator,
            debug_logger=self._log,
            late_ends=self._ends,
        )
        remote = config.get_remote_firing()
        self._remote = None if remote is None else self._make_remote(remote)
        self._executor: Executor = self._remote or self._local
        self._bus = config.get_message_bus() if message_bus is None else message_bus
        self._handler: HookEventHandler | None = None
        if self._bus is not None:
            self._make_handler()

    async def initialize(self) -> None:
        """Load the hooks, once, and again after a new review of the project; concurrent callers
        wait until they are loaded."""
        self.initialize_blocking()

    def initialize_blocking(self) -> None:
        """Do what ``initialize()`` does, for synchronous callers."""
        # The settings are a few small files, so one plain lock for all threads and loops will do.
        if self._initialized:
            if self._config.is_review_stale():
                self.reload_blocking()
            return
        with self._load_lock:
            if not self._initialized:
                settings = self._config.get_settings()
                if (refused := self._accept(settings)) is not None:
                    raise SettingsRefusedError(refused)
                self._load_hooks(settings)
                if self._is_watching and self._watch is None:
                    self._start_watch()
                self._initialized = True

    async def reload(self) -> ReloadReport:
        """Read the settings again and replace the hooks in one step; events under way finish with
        the old ones."""
        return self.reload_blocking()

    def reload_blocking(self) -> ReloadReport:
        """Do what ``reload()`` does, for synchronous callers."""
        with self._load_lock:
            before = self._config.get_settings()
            settings = self._config.read_settings()
            refused = self._accept(settings)
            if refused is None:
                self._load_hooks(settings)
                # A warm process belongs to the review that it was started with.
                self._runner.end_warm()
            elif not self._initialized:
                raise SettingsRefusedError(refused)
            else:
                self._config.keep_settings(before)
                told = "the changed settings are not used"
                self._log.warning(f"{told}: {refused}; the last good ones stay in force")
            self._initialized = True
        return ReloadReport(self._registry.count(), settings.problems, refused or "")

    def get_event_handler(self) -> "HookEventHandler":
        """Return the event handler; raises HookSystemNotInitializedError before
        ``initialize()``."""
        self._require_initialized()
        return self._handler or self._make_handler()

    def get_registry(self) -> HookRegistry:
        """Return the registry; raises HookSystemNotInitializedError before ``initialize()``."""
        self._require_initialized()
        return self._registry

    def get_all_hooks(self) -> tuple[HookRegistryEntry, ...]:
        """Return every hook, enabled or not, in the order of registration."""
        return self.get_registry().get_all_hooks()

    def get_policy_digest(self) -> str:
        """Return a digest of all hooks in force and of everything that a review of them covers.
        Files are read again when they have changed."""
        snapshot = self.get_registry().snapshot()
        known, policy = self._policy
        if policy is None or known is not snapshot or not policy.is_current():
            from hookline.trust.policy import Policy

            policy = Policy.read(
                [entry for entry in snapshot.entries if entry.enabled and entry.trusted],
                project_dir=self._config.get_project_dir(),
                cwd=self._config.get_working_dir(),
                get_files=self._config.get_reviewed_files,
            )
            self._policy = (snapshot, policy)
        return policy.digest

    def explain_missing(self, names: Iterable[str]) -> dict[str, str]:
        """Return those of the hooks that a caller on a bus requires (``name``, or ``layer:name``)
        that are not in force, each with the reason."""
        demands = [Required.read(name, HookSource) for name in names]
        missing = explain_missing(self.get_all_hooks(), demands)
        return {demand.text: why for demand, why in missing.items()}

    def _explain_missing_here(self, required: Iterable[Required]) -> Mapping[Required, str]:
        return explain_missing(self.get_all_hooks(), required)

    def follow(self, running: list[RunningHook]) -> None:
        """Keep the command hooks that are running in ``running`` from now on."""
        self._runner.follow(running)

    def follow_background(self, ended: list[HookExecutionResult]) -> None:
        """Add the result of each async hook to ``ended`` when it ends, from now on."""
        self._ends.listeners.append(ended.append)

    def wait_for_background(self, timeout: float | None = None) -> bool:
        """Block until all async hooks have ended; return False if some still run after
        ``timeout`` seconds."""
        return self._runner.wait_for_background(timeout)

    def get_problems(self) -> tuple[Problem, ...]:
        """Return the problems of the settings as they were last read."""
        return self._problems

    def get_status(self) -> HookSystemStatus:
        """Return whether the system is initialized, how many hooks it has, and how many events
        went on without the hooks of a worker."""
        unchecked = {} if self._remote is None else self._remote.count_unchecked()
        return HookSystemStatus(self._initialized, self._registry.count(), unchecked)

    def set_hook_enabled(self, name: str, enabled: bool) -> int:
        """Switch every hook of that name on or off, and return how many there are; managed hooks
        stay on."""
        changed = self.get_registry().set_hook_enabled(name, enabled)
        if not changed:
            switched = "enabled" if enabled else "disabled"
            self._log.warning(f"no hook named {name!r} can be {switched}")
        return changed

    def register_hook(
        self,
        event: str | EventName,
        hook: HookFunction | Mapping[str, Any],
        *,
        matcher: str | None = None,
        name: str | None = None,
        sequential: bool = False,
        timeout: float | None = None,
        on_failure: OnFailure | None = None,
        source: HookSource | str = HookSource.RUNTIME,
    ) -> Callable[[], None]:
        """Register a function, plain or async, or a hook as settings write it (for a function:
        ``{"type": "runtime", "name": …, "function": …}``).

        Works before ``initialize()`` too. Call the returned function to remove the hook. Raises
        InvalidHookError for a hook that could never run or whose matcher is no pattern, and
        UnknownEventError. ``timeout`` is in milliseconds, one minute by default;
        ``on_failure="block"`` blocks the event when the hook fails.
        """
        return self.add_hook(
            read_hook(
                event,
                hook,
                matcher=matcher,
                name=name,
                sequential=sequential,
                timeout=timeout,
                on_failure=on_failure,
                source=source,
            )
        )

    def add_hook(self, entry: HookRegistryEntry) -> Callable[[], None]:
        """Register a hook as ``read_hook`` returned it; call the returned function to remove it."""
        trusted = entry.hook.source is not HookSource.PROJECT or self._config.adopts(entry.hook)
        return self._registry.register(
            msgspec.structs.replace(entry, enabled=self._runtime_enabled, trusted=trusted)
        )

    def hook(self, event: str | EventName, **options: "Unpack[HookOptions]") -> Callable[[F], F]:
        """Return a decorator that registers a function with ``register_hook``."""

        def register(function: F) -> F:
            self.register_hook(event, function, **options)
            return function

        return register

    async def execute(self, fired: FiredEvent) -> Answer:
        """Carry out an event; the first one reads the settings. Only cancellation is raised."""
        try:
            self.initialize_blocking()
        except Exception as error:
            return self._executor.judge_failure(self._local.fail(error, "planning", fired))
        return await self._executor.execute(fired)

    def execute_blocking(self, fired: FiredEvent) -> Answer:
        """Do what ``execute`` does, for synchronous callers, with or without an event loop in this
        thread.

        An event that no hook matches starts neither a loop nor a thread. A loop that runs in this
        thread is blocked until the hooks have answered.
        """
        stage = "planning"
        try:
            self.initialize_blocking()
            answer = self._executor.answer_at_once(fired)
            if answer is not None:
                return answer
            stage = "execution"
            if not self._executor.needs_asyncio(fired):
                return PollLoop().run(self._executor.execute(fired))
            return run_blocking(lambda: self._executor.execute(fired))
        except Exception as error:
            # A loop needs file descriptors, and starting a thread can fail.
            return self._executor.judge_failure(self._local.fail(error, stage, fired))

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        try:
            self.initialize_blocking()
        except Exception:
            return True
        return self._executor.may_answer(event, target)

    def needs_asyncio(self, fired: FiredEvent) -> bool:
        """True if carrying out this event requires asyncio."""
        return self._executor.needs_asyncio(fired)

    def fire_blocking(self, event_name: str | EventName, input: Mapping[str, Any]) -> Answer:
        """Do what ``HookEventHandler.fire`` does, for synchronous callers."""
        self._prepare_to_fail()
        read = self._local.read_event(event_name, input)
        if isinstance(read, Answer):
            return self._executor.judge_failure(read)
        return self.execute_blocking(read)

    def fail(self, error: Exception, stage: str, fired: FiredEvent | None) -> Answer:
        """Return the answer to an event that could not be fired; it denies if a hook must
        answer."""
        self._prepare_to_fail()
        return self._executor.judge_failure(self._local.fail(error, stage, fired))

    def dispose(self) -> None:
        """Stop serving the bus, and end helper processes and async hooks: they are gone when this
        returns, and none starts afterwards. Calls under way finish. May be called more than
        once."""
        self._is_watching = False
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
        if self._handler is not None:
            self._handler.dispose()
        self._runner.dispose()

    async def __aenter__(self) -> "HookSystem":
        await self.initialize()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.dispose()

    def _make_remote(self, firing: "RemoteFiring") -> "RemoteExecutor":
        from hookline.engine.remote import RemoteExecutor

        return RemoteExecutor(
            self._local, firing, rules=self._config, explain_missing=self._explain_missing_here
        )

    def _make_handler(self) -> "HookEventHandler":
        """Return the event handler, created once: with the system if it serves a bus, else on
        first use, as most callers fire through the front."""
        from hookline.handler import HookEventHandler

        with self._load_lock:
            if self._handler is None:
                self._handler = HookEventHandler(
                    self._local,
                    executor=self._executor,
                    message_bus=self._bus,
                    warn=self._log.warning,
                    ready=self.initialize,
                    policy=self,
                )
            return self._handler

    def _start_watch(self) -> None:
        from hookline._support.watch import FileWatch

        # The watch's thread must not keep the system alive when nobody else refers to it.
        reference, warn = weakref.ref(self), self._log.warning

        def reload() -> None:
            system = reference()
            if system is None:
                return
            report = system.reload_blocking()
            try:
                if system._on_reload is not None:
                    system._on_reload(report)
            except Exception as error:
                warn(f"the on_reload callback raised: {message_of(error)}")

        self._watch = FileWatch(self._config.get_settings_files(), reload, warn)
        weakref.finalize(self, self._watch.stop)

    def _load_hooks(self, settings: Settings) -> None:
        broken = [
            f"{fault.place}: {fault.message}"
            for fault in settings.problems
            if fault.broken or fault.skipped
        ]
        # Over a bus the worker must have the required hooks.
        required = settings.required if self._config.get_remote_firing() is None else ()
        rules = Rules(self._config.is_strict(), required, "; ".join(broken))
        self._registry.load(settings.entries, rules)
        enabled = settings.enabled and not settings.only_managed
        if enabled is not self._runtime_enabled:
            # Settings that switch all hooks off also switch off those registered in code.
            self._runtime_enabled = enabled
            self._registry.set_layer_enabled(HookSource.RUNTIME, enabled)
        self._problems = settings.problems
        for problem in settings.problems:
            # People are told of a guard that goes on as it was reviewed once a process.
            if problem.kind != "guard-kept":
                self._log.warning(str(problem))
            elif str(problem) not in _TOLD:
                _TOLD.add(str(problem))
                self._log.warning(str(problem))

    def _prepare_to_fail(self) -> None:
        """Load the hooks, to tell whether one must answer; if that fails, the event's own failure
        is the one to report."""
        with suppress(Exception):
            self.initialize_blocking()

    def _require_initialized(self) -> None:
        if not self._initialized:
            raise HookSystemNotInitializedError


def read_hook(
    event: str | EventName,
    hook: HookFunction | Mapping[str, Any],
    *,
    matcher: str | None = None,
    name: str | None = None,
    sequential: bool = False,
    timeout: float | None = None,
    on_failure: OnFailure | None = None,
    source: HookSource | str = HookSource.RUNTIME,
) -> HookRegistryEntry:
    """Read a hook that code registers; raises UnknownEventError, and InvalidHookError for a hook
    that could never run, or whose matcher is no pattern."""
    narrowed = narrow_event(event)
    try:
        layer = HookSource(source)
    except ValueError:
        known = ", ".join(layer.value for layer in HookSource)
        problem = f"the source must be one of {known}, not {source!r}"
        raise InvalidHookError(problem) from None
    said = {"name": name or None, "timeout": timeout, "onFailure": on_failure}
    given = {key: value for key, value in said.items() if value is not None}
    if not isinstance(hook, Mapping):
        called = getattr(hook, "__qualname__", "") or type(hook).__qualname__
        config: HookConfig = runtime_hook({"name": called, "function": hook, **given}, source=layer)
    elif hook.get("type") == "runtime":
        config = runtime_hook({**hook, **given}, source=layer)
    else:
        config = settings_hook({**hook, **given}, source=layer)
    if matcher is not None and not isinstance(matcher, str):
        raise InvalidHookError(f"the matcher of {config.name!r} must be a string")
    text = msgspec.UNSET if matcher is None else matcher
    entry, fault = make_entry(narrowed, config, text, sequential=sequential)
    if fault is not None:
        raise InvalidHookError(f"the matcher of {config.name!r}: {fault.message}; correct it")
    return entry


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine that requires asyncio and return its result; on another thread if a loop
    already runs in this one."""
    import asyncio

    def run() -> T:
        # With a loop factory, the runner leaves the thread's current event loop alone.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(make())

    if not is_running_asyncio():
        return run()
    from concurrent.futures import Future
    from contextvars import copy_context

    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(run())
        except BaseException as error:
            outcome.set_exception(error)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="hookline blocking call")
    thread.start()
    thread.join()
    return outcome.result()
