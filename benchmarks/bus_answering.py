"""The other end of the bus in its own process: answers the same bytes through hookline and bare.

``hooked`` has an in-process hook behind it, and so the whole engine.
"""

import asyncio
import sys
import uuid
from typing import Any

from hookline import Config, HookSystem
from hookline.bus.nats import NatsMessageBus
from hookline.wire import codec

BARE, OURS, HOOKED = "bench-bare", "bench-ours", "bench-hooked"
RESPONSE: dict[str, Any] = {
    "type": "hook-execution-response",
    "correlationId": str(uuid.UUID(int=0)),
    "success": True,
    "output": {
        "success": True,
        "finalOutput": {"decision": "allow", "continue": True, "suppressOutput": False},
        "allOutputs": [{"decision": "allow"}],
        "errors": [],
        "totalDuration": 1.25,
    },
}


async def main(url: str) -> None:
    """Answer until stdin ends."""
    import nats
    from nats.aio.msg import Msg

    ours, hooked = NatsMessageBus(url, prefix=OURS), NatsMessageBus(url, prefix=HOOKED)
    bare = await nats.connect(url)
    body = codec.encode(RESPONSE)

    async def respond(message: Msg) -> None:
        await message.respond(body)

    async def answer(message: dict[str, Any]) -> None:
        await ours.publish({**RESPONSE, "correlationId": message["correlationId"]})

    await bare.subscribe(BARE, queue="bench", cb=respond)
    await bare.flush()
    ours.subscribe("hook-execution-request", answer)  # type: ignore[arg-type]
    system = HookSystem(Config(), message_bus=hooked)
    system.register_hook("BeforeTool", allow)
    await system.initialize()
    async with ours, hooked:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    system.dispose()
    await bare.close()


async def allow(_input: dict[str, Any]) -> dict[str, Any]:
    """The hook of ``hooked``."""
    return {"decision": "allow"}


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
