"""Fires events that a hook must block, through agents: hooks deny in every possible way, or fail
to, or an impostor answers in their place. Each event must be blocked, whatever broke."""

import asyncio
import contextlib
import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hookline.bus.messages import MessageBus
from hookline.bus.nats.client import Incoming
from hookline.bus.nats.connection import NatsConnection
from hookline.contract import Config, HookSystem
from hookline.errors import HooklineError
from hookline.pipeline.answer import Answer
from hookline.wire import codec
from tools.soak_bus.judging import Verdict
from tools.soak_bus.scene import DENYING, EVENT, FAILING, GUARD, TOOL

LIARS = "liars"
# Seconds that an agent waits for a liar; some liars never answer.
_PATIENCE = 2.0
_PADDING = "x" * 1_100_000
# Kind -> how often it is drawn; those that carry a megabyte, or wait, are rare.
_SHARES = {
    **dict.fromkeys(DENYING, 10),
    **dict.fromkeys(FAILING, 10),
    "padded": 1,
    "large": 1,
    "lied about": 30,
}
_ALLOWED: dict[str, Any] = {
    "success": True,
    "finalOutput": {"continue": True, "suppressOutput": False, "decision": "allow"},
    "allOutputs": [{"decision": "allow"}],
    "errors": [],
    "totalDuration": 1.0,
}


class Lie(NamedTuple):
    """A false answer; sent to ``subject``, or else to the caller's inbox."""

    fields: dict[str, Any]
    output: Mapping[str, Any] = MappingProxyType({})
    subject: str = ""


LIES = (
    Lie({"output": None}),
    Lie({"success": "true"}),
    Lie({"success": 1}),
    Lie({"success": False, "error": {"code": "invalid_payload", "message": "a lie"}}),
    Lie({"success": False, "error": {"code": "planning_failed", "message": "a lie"}}),
    Lie({"success": False}),
    Lie({"correlationId": "of another"}),
    Lie({"type": "hook-execution-request"}),
    Lie({"required": []}),
    Lie({"required": None}),
    Lie({}, {"finalOutput": None}),
    Lie({}, {"finalOutput": {"decision": "Allow"}}),
    Lie({}, {"finalOutput": {"decison": "allow"}}),
    Lie({}, {"finalOutput": {"decision": "Deny"}}),
    Lie({}, {"finalOutput": {"continue": "true"}}),
    Lie({}, {"errors": "none"}),
    Lie({}, subject=f"{LIARS}.response"),
)


class Guarding:
    """Agents. Some block when nobody answers; the others must block what hooks deny as long as
    nothing is broken."""

    def __init__(self, bus: MessageBus, liars: MessageBus, *, seed: int, timeout: float) -> None:
        self._random = random.Random(f"guarding {seed}")
        self._blocking = _agent(bus, timeout, on_unavailable="block", required=[GUARD])
        self._allowing = _agent(bus, timeout)
        self._deceived = _agent(
            liars, min(timeout, _PATIENCE), on_unavailable="block", required=[GUARD]
        )

    async def __aenter__(self) -> "Guarding":
        for agent in (self._blocking, self._allowing, self._deceived):
            await agent.initialize()
        return self

    async def __aexit__(self, *_error: object) -> None:
        for agent in (self._blocking, self._allowing, self._deceived):
            agent.dispose()

    async def fire(self, id: str) -> Verdict:
        """Fire one such event, and wait for its answer."""
        [kind] = self._random.choices([*_SHARES], [*_SHARES.values()])
        agent, blocks = self._blocking, True
        if kind == "lied about":
            agent = self._deceived
        elif kind != "large" and self._random.random() < 0.3:
            agent, blocks = self._allowing, False
        started = asyncio.get_running_loop().time()
        padding = {"padding": _PADDING} if kind == "large" else {}
        input = {"tool_name": TOOL, "tool_input": {"id": id, "kind": kind, **padding}}
        answer: Answer = await agent.get_event_handler().fire(EVENT, input)
        seconds = asyncio.get_running_loop().time() - started
        # The reason of a failed hook does not contain the id.
        is_asked = kind in DENYING or kind == "padded"
        return Verdict(id, kind, answer.blocked, blocks, seconds, answer.reason, is_asked)


def _agent(bus: MessageBus, timeout: float, **options: Any) -> HookSystem:
    return HookSystem(Config(remote_bus=bus, remote_timeout=timeout, **options))


async def lie(connection: NatsConnection, seed: int) -> None:
    """Answer every request under the liars' prefix, each with another lie."""
    chance = random.Random(f"lies {seed}")
    sending: set[asyncio.Task[None]] = set()

    async def send(subject: str, body: bytes) -> None:
        with contextlib.suppress(HooklineError):
            await connection.publish(subject, body)

    def answer(asked: Incoming) -> None:
        request, lie = codec.decode(asked.data), chance.choice(LIES)
        own = {
            "type": "hook-execution-response",
            "correlationId": request["correlationId"],
            "success": True,
            "output": {**_ALLOWED, **lie.output},
            "policy": "sha256:0",
            "required": request.get("required"),
        }
        body = codec.encode({**own, **lie.fields})
        task = asyncio.get_running_loop().create_task(send(lie.subject or asked.reply, body))
        sending.add(task)
        task.add_done_callback(sending.discard)

    await connection.subscribe(f"{LIARS}.request.*", answer)
