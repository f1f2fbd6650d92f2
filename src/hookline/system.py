"""The composition root: builds the engine's parts once, wires them, and owns their lifetime."""

import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from hookline.debuglog import DebugLogger
from hookline.errors import HookSystemNotInitializedError, InvalidHookError, message_of
from hookline.handler import HookEventHandler, Session
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.definitions import Problem, command_hook
from hookline.pipeline.dialects import dialect_of
from hookline.pipeline.layers import Settings
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry
from hookline.pipeline.runner.loop import PollLoop, is_running_asyncio
from hookline.pipeline.runner.runner import HookRunner, RunningHook
from hookline.wire.events import HookEventName, narrow_event
from hookline.wire.hooks import HookConfig, HookFunction, HookSource, RuntimeHook
from hookline.wire.results import ProcessedHookResult

# Without a bus or a watch, what they take is not loaded.
if TYPE_CHECKING:
    from hookline.bus.messages import MessageBus
    from hookline.remote import RemoteFiring
    from hookline.translate import HookTranslator
    from hookline.watching import FileWatch

F = TypeVar("F", bound=HookFunction)
T = TypeVar("T")


class SystemConfig(Session, Protocol):
    """What a hook system asks of its configuration."""

    def get_settings(self) -> Settings: ...

    def read_settings(self) -> Settings: ...

    def is_trusted_folder(self) -> bool: ...

    def get_message_bus(self) -> "MessageBus | None": ...

    def get_remote_firing(self) -> "RemoteFiring | None": ...

    def get_debug_logger(self) -> DebugLogger: ...

    def get_settings_files(self) -> Sequence[str]: ...


class HookSystemStatus(msgspec.Struct, frozen=True):
    """Whether the system is initialized, and how many hooks it has."""

    initialized: bool
    total_hooks: int


class ReloadReport(msgspec.Struct, frozen=True):
    """What a reload found; a broken file keeps the hooks it last gave."""

    total_hooks: int
    problems: tuple[Problem, ...] = ()


class HookSystem:
    """One registry, planner, runner, aggregator and event handler, for any number of threads and
    event loops at once. ``async with`` initializes and disposes it.

    With ``watch`` it reloads when a settings file changes; that needs the extra ``watch``.
    ``on_reload`` is called with what each of these reloads found, in a thread that is not yours.
    """

    def __init__(
        self,
        config: SystemConfig,
        *,
        message_bus: "MessageBus | None" = None,
        debug_logger: DebugLogger | None = None,
        translator: "HookTranslator | None" = None,
        watch: bool = False,
        on_reload: Callable[[ReloadReport], object] | None = None,
    ) -> None:
        self._config = config
        self._log = config.get_debug_logger() if debug_logger is None else debug_logger
        self._load_lock = threading.Lock()
        self._initialized = False
        self._runtime_enabled = True
        self._problems: tuple[Problem, ...] = ()
        self._is_watching = watch
        self._on_reload = on_reload
        self._watch: FileWatch | None = None
        self._registry = HookRegistry()
        self._runner = HookRunner(warn=self._log.warning)
        self._handler = _handler_for(
            config,
            HookPlanner(self._registry, warn=self._log.warning),
            self._runner,
            HookAggregator(),
            translator=translator,
            message_bus=config.get_message_bus() if message_bus is None else message_bus,
            debug_logger=self._log,
            ready=self.initialize,
        )

    async def initialize(self) -> None:
        """Load the hooks, once; whoever calls while that happens waits for it."""
        self.initialize_blocking()

    def initialize_blocking(self) -> None:
        """``initialize()`` for synchronous callers. The load is a few small files, so a lock that
        serves every thread and loop alike costs less than anything cleverer."""
        if self._initialized:
            return
        with self._load_lock:
            if not self._initialized:
                self._load(self._config.get_settings())
                if self._is_watching and self._watch is None:
                    self._watch = self._start_watch()
                self._initialized = True

    async def reload(self) -> ReloadReport:
        """Read the settings again and swap the hooks in one step; events under way finish on the
        old ones."""
        return self.reload_blocking()

    def reload_blocking(self) -> ReloadReport:
        """``reload()`` for synchronous callers."""
        with self._load_lock:
            self._load(self._config.read_settings())
            self._initialized = True
        return ReloadReport(self._registry.count(), self._problems)

    def get_event_handler(self) -> HookEventHandler:
        """What fires events; raises HookSystemNotInitializedError before ``initialize()``."""
        self._require_initialized()
        return self._handler

    def get_registry(self) -> HookRegistry:
        """The hooks; raises HookSystemNotInitializedError before ``initialize()``."""
        self._require_initialized()
        return self._registry

    def get_all_hooks(self) -> tuple[HookRegistryEntry, ...]:
        """Every hook, enabled or not, in the order of registration."""
        return self.get_registry().get_all_hooks()

    def follow(self, running: list[RunningHook]) -> None:
        """Keep in ``running``, from now on, the command hooks that are under way."""
        self._runner.follow(running)

    def get_problems(self) -> tuple[Problem, ...]:
        """What was wrong in the settings when they were last read."""
        return self._problems

    def get_status(self) -> HookSystemStatus:
        """Whether the system is initialized, and how many hooks it has."""
        return HookSystemStatus(self._initialized, self._registry.count())

    def set_hook_enabled(self, name: str, enabled: bool) -> int:
        """Switch every hook of that name on or off; how many were found. Managed hooks stay on."""
        changed = self.get_registry().set_hook_enabled(name, enabled)
        if not changed:
            switched = "enabled" if enabled else "disabled"
            self._log.warning(f"no hook named {name!r} could be {switched}")
        return changed

    def register_hook(
        self,
        event: str | HookEventName,
        hook: HookFunction | Mapping[str, Any],
        *,
        matcher: str | None = None,
        name: str | None = None,
        sequential: bool = False,
        timeout: float | None = None,
        source: HookSource | str = HookSource.RUNTIME,
    ) -> Callable[[], None]:
        """Register a function, plain or async, or a hook as settings write it (for a function:
        ``{"type": "runtime", "name": …, "function": …}``).

        Works before ``initialize()`` too. The returned function takes the hook out again. Raises
        InvalidHookError for what could never run, UnknownEventError for no event. ``timeout`` is
        in milliseconds, a minute if nothing is said.
        """
        narrowed = narrow_event(event)
        layer = _layer_of(source)
        config = _hook_of(hook, name=name, timeout=timeout, source=layer)
        if matcher is not None and not isinstance(matcher, str):
            raise InvalidHookError(f"the matcher of {config.name!r} must be a string")
        matches, problem = dialect_of(config.dialect).compile_matcher(narrowed, matcher)
        if problem is not None:
            self._log.warning(f"hook {config.name!r}: {problem}")
        return self._registry.register(
            HookRegistryEntry(
                event=narrowed,
                hook=config,
                matcher=msgspec.UNSET if matcher is None else matcher,
                matches=matches,
                sequential=sequential,
                enabled=self._runtime_enabled,
                trusted=layer is not HookSource.PROJECT or self._config.is_trusted_folder(),
            )
        )

    def hook(
        self,
        event: str | HookEventName,
        *,
        matcher: str | None = None,
        name: str | None = None,
        sequential: bool = False,
        timeout: float | None = None,
    ) -> Callable[[F], F]:
        """``register_hook`` as a decorator."""

        def register(function: F) -> F:
            self.register_hook(
                event,
                function,
                matcher=matcher,
                name=name,
                sequential=sequential,
                timeout=timeout,
            )
            return function

        return register

    def fire_blocking(
        self, event_name: str | HookEventName, input: Mapping[str, Any]
    ) -> ProcessedHookResult:
        """Fire an event from synchronous code, with or without an event loop in this thread.

        Where a loop is running in this very thread it is held up until the hooks have answered;
        async code awaits the event handler instead.
        """
        self.initialize_blocking()
        try:
            if not self._handler.needs_asyncio and not self._registry.has_functions():
                return PollLoop().run(self._handler.fire(event_name, input))
            if is_running_asyncio():
                return _on_thread(lambda: self.fire_blocking(event_name, input))
            return _run_on_asyncio(lambda: self._handler.fire(event_name, input))
        except (OSError, RuntimeError) as error:
            # A loop takes descriptors, and a thread may not be had.
            return self._handler.failure(error, "execution")

    def dispose(self) -> None:
        """Stop serving the bus, and end what serves hooks from call to call; calls under way
        finish. May be called more than once."""
        self._is_watching = False
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
        self._handler.dispose()
        self._runner.dispose()

    async def __aenter__(self) -> "HookSystem":
        await self.initialize()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.dispose()

    def _start_watch(self) -> "FileWatch":
        from hookline.watching import FileWatch

        # The thread must not keep alive a system that nobody else remembers.
        reference = weakref.ref(self)

        def reload() -> None:
            system = reference()
            if system is not None:
                system._tell_reload(system.reload_blocking())

        watch = FileWatch(self._config.get_settings_files(), reload, self._log.warning)
        weakref.finalize(self, watch.stop)
        return watch

    def _tell_reload(self, report: ReloadReport) -> None:
        if self._on_reload is not None:
            try:
                self._on_reload(report)
            except Exception as error:
                self._log.warning(f"who was to hear of a reload failed: {message_of(error)}")

    def _load(self, settings: Settings) -> None:
        self._registry.load(settings.entries)
        self._switch_runtime_hooks(settings.enabled and not settings.only_managed)
        self._problems = settings.problems
        for problem in settings.problems:
            self._log.warning(str(problem))

    def _switch_runtime_hooks(self, enabled: bool) -> None:
        """Who switches all hooks off switches off those registered in code as well."""
        if enabled is self._runtime_enabled:
            return
        self._runtime_enabled = enabled
        self._registry.set_layer_enabled(HookSource.RUNTIME, enabled)

    def _require_initialized(self) -> None:
        if not self._initialized:
            raise HookSystemNotInitializedError


def _handler_for(config: SystemConfig, *parts: Any, **options: Any) -> HookEventHandler:
    remote = config.get_remote_firing()
    if remote is None:
        return HookEventHandler(config, *parts, **options)
    from hookline.remote import RemoteEventHandler

    return RemoteEventHandler(config, *parts, remote=remote, **options)


def _hook_of(
    hook: HookFunction | Mapping[str, Any],
    *,
    name: str | None,
    timeout: float | None,
    source: HookSource,
) -> HookConfig:
    said = {"name": name or None, "timeout": timeout}
    given = {key: value for key, value in said.items() if value is not None}
    if not isinstance(hook, Mapping):
        called = getattr(hook, "__qualname__", "") or type(hook).__qualname__
        return _runtime_hook({"name": called, "function": hook, **given}, source)
    if hook.get("type") == "runtime":
        return _runtime_hook({**hook, **given}, source)
    return command_hook({**hook, **given}, source=source)


def _runtime_hook(config: Mapping[str, Any], source: HookSource) -> RuntimeHook:
    function = config.get("function")
    if not config.get("name"):
        raise InvalidHookError("a runtime hook needs a name")
    if not callable(function):
        raise InvalidHookError("a hook is a function, or a mapping as in the settings")
    # What all kinds of hooks have in common is read, and refused, as it is for commands.
    common = command_hook({**config, "type": "command", "command": "-"}, source=source)
    from inspect import iscoroutinefunction

    call = getattr(function, "__call__", None)  # noqa: B004
    return RuntimeHook(
        name=common.name,
        source=source,
        description=common.description,
        timeout=common.timeout,
        on_failure=common.on_failure,
        managed=common.managed,
        function=function,
        is_async=iscoroutinefunction(function) or iscoroutinefunction(call),
    )


def _layer_of(source: HookSource | str) -> HookSource:
    try:
        return HookSource(source)
    except ValueError:
        known = ", ".join(layer.value for layer in HookSource)
        raise InvalidHookError(f"the source must be one of {known}, not {source!r}") from None


def _run_on_asyncio(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Hooks that are functions of asyncio's world need a loop of asyncio's."""
    import asyncio

    # A factory of its own keeps the runner from touching the thread's current event loop.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(make())


def _on_thread(call: Callable[[], T]) -> T:
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            failure.append(error)

    from contextvars import copy_context

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="hookline fire_blocking")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
