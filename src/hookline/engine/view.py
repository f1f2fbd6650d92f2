"""How one caller sees the engine: its session, whether it awaits, who hears the answers, and what
happens if the engine itself fails."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from hookline._support.notices import warn
from hookline.dialects import find_named_event, read_named_event
from hookline.engine.engine import Engine, run_blocking
from hookline.engine.executor import deny_failed
from hookline.errors import describe
from hookline.pipeline.answer import Answer, make_empty_answer, process_common_hook_output_fields
from hookline.wire.events import EventName
from hookline.wire.fired import Actor, FiredEvent, Original, make_fired_event
from hookline.wire.results import FailureMeta, build_failure_envelope

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias
    from hookline.translate import HookTranslator
    from hookline.wire.hooks import HookSource

Hear: TypeAlias = Callable[[Answer], Awaitable[None]]


class EngineView(msgspec.Struct, frozen=True, eq=False):
    """An engine for one caller; ``msgspec.structs.replace`` makes another view of it.

    The coroutines of a ``blocking`` view end in their first step. A ``closed`` one denies an event
    when the engine itself fails. ``hear`` gets each answer before it is applied, and must not
    raise. ``original`` is an event as the host worded it, by the event's name.
    ``get_actor`` returns who fires an event, and is asked for each.
    """

    engine: Engine
    session_id: str | None = None
    transcript_path: str | None = None
    blocking: bool = False
    closed: bool = False
    hear: Hear | None = None
    original: Mapping[EventName, Original] = {}
    get_actor: Callable[[], Actor] | None = None

    @property
    def heard(self) -> "EngineView":
        """The same view for callers who show no answers: what hooks tell the user is logged as a
        warning, unless a listener gets the answers already."""
        if self.hear is not None:
            return self
        return msgspec.structs.replace(self, hear=self._tell_user)

    async def _tell_user(self, answer: Answer) -> None:
        if answer.user_message is not None:
            self.warn(f"a hook tells the user: {answer.user_message}", kind="told-user")

    def fire(self, event: EventName, *values: Any) -> Coroutine[Any, Any, Answer]:
        """Fire an event with the values of its own fields."""
        # No coroutine of its own: most events match no hook, and it would be felt.
        try:
            fired = make_fired_event(event, values, self.session_id, self.transcript_path)
        except Exception as error:
            return self._answer(self.fail(error, FiredEvent(event)))
        return self.execute(fired)

    async def fire_named(
        self, name: object, input: Mapping[str, Any], *, dialect: str | None = None
    ) -> Answer:
        """Fire an event by its name, with its fields as a mapping; with ``dialect`` both are in
        the words of that dialect."""
        event = None
        try:
            event = find_named_event(name)
            if isinstance(input, Mapping):  # what is no object is reported by its reader
                session = {"session_id": self.session_id, "transcript_path": self.transcript_path}
                input = {**session, **input}
            fired = read_named_event(name, input, self.engine.project.get_tools, dialect=dialect)
        except Exception as error:
            return self.fail(error, FiredEvent(event) if event else None)
        return await self.execute(fired)

    async def fire_extra(self, name: str, target: str, fields: Mapping[str, Any]) -> Answer | None:
        """Fire an event that only other dialects have, if a hook may answer it; else return None,
        and load nothing of these dialects. ``target`` is what matchers are compared with."""
        return await self.fire_named(name, fields) if self.may_answer(name, target) else None

    async def execute(self, fired: FiredEvent) -> Answer:
        """Carry out an event; only cancellation is raised."""
        if self.get_actor is not None:
            fired = self.get_actor().sign(fired)
        if self.original and fired.event in self.original:
            facts = msgspec.structs.replace(fired.facts, original=self.original[fired.event])
            fired = msgspec.structs.replace(fired, facts=facts)
        engine = self.engine
        try:
            if engine.project.is_off():
                answer = make_empty_answer(fired)
            elif self.blocking:
                answer = engine.execute_blocking(fired)
            else:
                answer = await engine.execute(fired)
        except Exception as error:
            answer = self.fail(error, fired, "planning")
        if self.closed and answer.word == "failed" and not answer.blocked:
            answer = deny_failed(answer.aggregated, fired, engine.get_translator)
        if self.hear is not None:
            await self.hear(answer)
        return answer

    async def _answer(self, answer: Answer) -> Answer:
        return answer

    async def settle(self, value: Any) -> Any:
        """Await what a callable returned, if it must be awaited."""
        if not isawaitable(value):
            return value
        if not self.blocking:
            return await value

        async def wait() -> Any:
            return await value

        return run_blocking(wait)

    def fail(self, error: Exception, fired: FiredEvent | None, stage: str = "validation") -> Answer:
        """Warn, and return the answer to an event that could not be fired; it denies if a hook
        must answer."""
        if not self.is_off():
            return self.engine.fail(error, stage, fired)
        warn(f"hooks did not run: {describe(error)}")
        meta = FailureMeta(event_name=fired.event if fired is not None else None)
        return process_common_hook_output_fields(build_failure_envelope(error, stage, meta), fired)

    def warn(self, message: str, kind: str = "") -> None:
        """Log a warning as the engine does."""
        self.engine.warn(message, kind)

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        return not self.is_off() and self.engine.may_answer(event, target)

    def may_skip(self, *events: EventName | str, target: str = "") -> bool:
        """True if these events need not be fired now: no hook would answer them, and the log does
        not record events without hooks."""
        try:
            if self.engine.get_log().enabled:
                return False
        except Exception:
            return False
        return not any(self.may_answer(event, target) for event in events)

    def is_off(self) -> bool:
        """True if code or settings switch all hooks off; False if the settings cannot be read."""
        try:
            return self.engine.project.is_off()
        except Exception:
            return False

    def is_strict(self) -> bool:
        """True in strict mode, in which nothing passes unchecked: settings, code or the
        environment ask for it, or the settings cannot be read."""
        try:
            # This reads the settings, which may ask for strict mode.
            return not self.engine.project.is_off() and self.engine.project.in_force.strict
        except Exception:
            return True

    def get_translator(self) -> "HookTranslator":
        """Return what reads and edits a model's requests and responses."""
        return self.engine.get_translator()

    def names_of_hooks(self, *events: EventName) -> list[str]:
        """Return the names of the hooks in force for these events in this process."""
        try:
            if self.engine.project.is_off():
                return []
            self.engine.load()
            entries = self.engine.registry.get_all_hooks()
        except Exception as error:
            self.warn(f"cannot list the hooks: {describe(error)}")
            return []
        return [e.name for e in entries if e.event in events and e.enabled and e.trusted]

    @property
    def place(self) -> tuple[str, str]:
        """The session id and the working directory, as hooks read them."""
        project, session_id = self.engine.project, self.session_id
        return project.get_session_id() if session_id is None else session_id, project.working_dir

    def find_tools(self) -> "Mapping[str, ToolAlias] | None":
        """Return what the host's tools are in other dialects, None if it declares none."""
        try:
            return self.engine.project.get_tools()
        except Exception:
            # The first event reports it.
            return None

    def find_files(self, dialect: str) -> "list[tuple[HookSource, str]]":
        """Return the settings files that have hooks of a dialect, each with its layer; plugins are
        left out."""
        try:
            entries = self.engine.project.get_settings().entries
        except Exception:
            # The first event reports it.
            return []
        of_settings = (e for e in entries if not getattr(e.hook, "plugin_root", None))
        found = {(e.source, e.file) for e in of_settings if e.file and e.hook.dialect == dialect}
        return sorted(found)
