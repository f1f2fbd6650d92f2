"""A BeforeTool event that an agent sends over NATS to a worker, and the answer on its way back."""

import asyncio
from pathlib import Path

from hookline import Hooks
from hookline.bus.nats import NatsMessageBus
from hookline.replies import Reply
from hookline.wire.inputs import BeforeToolEvent
from tests.natsserver import nats_server
from tools.walks import walking


async def main(url: str) -> None:
    worker_bus, agent_bus = NatsMessageBus(url), NatsMessageBus(url)
    worker = Hooks(message_bus=worker_bus)

    @worker.on("BeforeTool", matcher="shell")
    def guard(event: BeforeToolEvent) -> Reply:
        return {"decision": "deny" if "push" in event["tool_input"]["command"] else "allow"}

    system = worker.config.get_hook_system()
    assert system is not None
    await system.initialize()
    await worker_bus.connect()
    await agent_bus.connect()
    agent = Hooks(remote_bus=agent_bus, on_unavailable="block")
    with walking():
        answer = await agent.before_tool("shell", {"command": "ls"})
    print(answer.word)
    await agent_bus.close()
    await worker_bus.close()


with nats_server(Path("nats").absolute()) as server:
    asyncio.run(main(server.url))
