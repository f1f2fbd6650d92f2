"""How one caller sees the engine: its session, whether it awaits, who hears the answers, and what
happens if the engine itself fails."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from hookline.dialects import find_named_event, read_named_event
from hookline.engine.engine import Engine
from hookline.engine.executor import deny_failed
from hookline.errors import describe
from hookline.pipeline.answer import Answer, make_empty_answer
from hookline.runner.loop import run_blocking
from hookline.wire.events import EventName
from hookline.wire.fired import Actor, FiredEvent, Original, make_fired_event

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

Hear: TypeAlias = Callable[[Answer], Awaitable[None]]


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What decisions about a call depend on besides the call: the session, whom it serves, and the
    digest of all hooks in force. ``policy`` is "" if it could not be made."""

    session_id: str
    labels: Mapping[str, str]
    policy: str


class EngineView(msgspec.Struct, frozen=True, eq=False):
    """An engine for one caller; ``msgspec.structs.replace`` makes another view of it.

    The coroutines of a ``blocking`` view end in their first step. A ``closed`` one denies an event
    when the engine itself fails. ``hear`` gets each answer before it is applied, and must not
    raise. ``original`` is an event as the host worded it, by the event's name.
    ``get_actor`` returns who fires an event, and is asked for each. ``labels`` are what the host
    says of the session's user; an actor's own labels are added to them.
    """

    engine: Engine
    session_id: str | None = None
    transcript_path: str | None = None
    blocking: bool = False
    closed: bool = False
    hear: Hear | None = None
    original: Mapping[EventName, Original] = {}
    get_actor: Callable[[], Actor] | None = None
    labels: Mapping[str, str] = {}

    @property
    def heard(self) -> "EngineView":
        """The same view for callers who show no answers: what hooks tell the user is logged as a
        warning, unless a listener gets the answers already."""
        return self if self.hear is not None else self.heard_by(self._tell_user)

    def heard_by(self, hear: Hear) -> "EngineView":
        """Return the same view, whose answers ``hear`` gets too, after those who hear them now."""
        earlier = self.hear
        if earlier is None:
            return msgspec.structs.replace(self, hear=hear)

        async def tell_both(answer: Answer) -> None:
            await earlier(answer)
            await hear(answer)

        return msgspec.structs.replace(self, hear=tell_both)

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
        if self.get_actor is not None or self.labels:
            fired = self.find_actor().sign(fired)
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

    def find_actor(self) -> Actor:
        """Return who fires events now, with the labels of the session."""
        actor = Actor() if self.get_actor is None else self.get_actor()
        if not self.labels:
            return actor
        return msgspec.structs.replace(actor, labels={**self.labels, **actor.labels})

    async def _answer(self, answer: Answer) -> Answer:
        return answer

    async def settle(self, value: Any) -> Any:
        """Await what a callable returned, if it must be awaited."""
        from inspect import isawaitable

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
        return self.engine.fail(error, stage, fired)

    def warn(self, message: str, kind: str = "") -> None:
        """Log a warning as the engine does."""
        self.engine.warn(message, kind)

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        return self.engine.may_answer(event, target)

    def may_decide(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would judge or change such an event now."""
        return self.engine.may_decide(event, target)

    @property
    def as_blocking(self) -> "EngineView":
        """The same view for code that does not await."""
        return self if self.blocking else msgspec.structs.replace(self, blocking=True)

    def is_strict(self) -> bool:
        """True in strict mode, in which nothing passes unchecked: settings, code or the
        environment ask for it, or the settings cannot be read."""
        try:
            # This reads the settings, which may ask for strict mode.
            return not self.engine.project.is_off() and self.engine.project.in_force.strict
        except Exception:
            return True

    def describe_circumstances(self) -> Circumstances:
        """Return what decisions about a call depend on besides the call."""
        engine, session_id, policy = self.engine, self.session_id, ""
        try:
            engine.load()
            policy = engine.get_policy_digest()
        except Exception as error:
            self.warn(f"cannot make the digest of the hooks in force: {describe(error)}")
        return Circumstances(
            session_id=engine.project.get_session_id() if session_id is None else session_id,
            labels=self.find_actor().labels,
            policy=policy,
        )

    def get_translator(self) -> "HookTranslator":
        """Return what reads and edits a model's requests and responses."""
        return self.engine.get_translator()
