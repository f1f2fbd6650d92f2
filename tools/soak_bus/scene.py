"""The scene that faults break: a server, two networks to it, and workers whose hook writes down the
id of each request."""

import asyncio
import json
import random
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from tests.natsserver import NatsServer
from tests.service.workers import WorkerProcess, worker
from tools.soak_bus.proxy import Proxy

EVENT, TOOL, PREFIX = "BeforeTool", "soak", "soak"
SLOW_SECONDS = 0.3
_WORKERS = 3
_CONCURRENCY = "4"
GUARD = "guard"
# How a hook denies, and how it fails instead; each is a case of the script below.
DENYING = ("denied", "stopped", "exit 2", "left behind")
# A guard's answer is one object and nothing else, so what stands around it is a failure.
FAILING = ("cut off", "a dict of Python's", "not JSON", "escaped", "crashed", "killed")
# Shell builtins only: another program would be most of the work. The reason of "padded" is in a
# response twice, which makes it too long for a message of NATS.
_HOOK = """IFS= read -r event || :
id=${{event#*'"id":"'}}; id=${{id%%'"'*}}
kind=${{event#*'"kind":"'}}; kind=${{kind%%'"'*}}
echo "$id" >> {executed}
{pause}case $kind in
denied) printf '{{"decision":"deny","reason":"%s"}}' "$id" ;;
stopped) printf '{{"continue":false,"stopReason":"%s"}}' "$id" ;;
'exit 2') echo "$id" >&2; exit 2 ;;
escaped) printf '\033[2J\n{{"decision":"deny","reason":"%s"}}\n\033[0m' "$id" ;;
'left behind') sleep 1 & printf '{{"decision":"deny","reason":"%s"}}' "$id" ;;
'cut off') printf '{{"decision":"deny","reason":"%s' "$id" ;;
"a dict of Python's") printf "{{'decision': 'deny', 'reason': '%s'}}" "$id" ;;
'not JSON') printf '{{"decision":"deny","reason":NaN,}}' ;;
crashed) exit 1 ;;
killed) kill -9 $$ ;;
padded) x=0123456789; for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do x=$x$x; done
  printf '{{"decision":"deny","reason":"%s %s"}}' "$id" "$x" ;;
*) printf '{{"reason":"%s"}}' "$id" ;;
esac
"""


class Scene:
    """A server behind one network for callers and one for workers; one worker is slow."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._executed = scratch / "executed"
        self._stack = AsyncExitStack()
        self._started = ExitStack()
        self._workers: list[WorkerProcess] = []
        self.agents_network, self.workers_network = Proxy(), Proxy()

    async def __aenter__(self) -> "Scene":
        self.server = await asyncio.to_thread(NatsServer, self._scratch / "server")
        self._started.callback(self.server.stop)
        for proxy in (self.agents_network, self.workers_network):
            await proxy.open(self.server.port)
            self._stack.push_async_callback(proxy.close)
        self._projects = {"quick": self._project("quick"), "slow": self._project("slow")}
        try:
            for _ in range(_WORKERS):
                await self.start_worker()
            await self.start_worker("slow")
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self._started.close)
        await self._stack.aclose()

    def agents_url(self, prefix: str) -> str:
        return f"nats://127.0.0.1:{self.agents_network.port}?prefix={prefix}"

    async def start_worker(self, kind: str = "quick") -> None:
        """Start a worker; return when it serves."""
        url = f"nats://127.0.0.1:{self.workers_network.port}?prefix={PREFIX}"
        starting = worker(self._projects[kind], url, "--concurrency", _CONCURRENCY)
        self._workers.append(await asyncio.to_thread(self._started.enter_context, starting))

    async def kill_worker(self, chance: random.Random) -> None:
        """Kill a worker with SIGKILL, and start another."""
        doomed = self._workers.pop(chance.randrange(_WORKERS))
        await asyncio.to_thread(doomed.end, signal.SIGKILL)
        await self.start_worker()
        # The slow worker must stay the last.
        self._workers.insert(0, self._workers.pop())

    async def pause_worker(self, chance: random.Random, seconds: float) -> None:
        """Stop a worker for a while with SIGSTOP, and continue it."""
        paused = self._workers[chance.randrange(_WORKERS)].process
        paused.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            paused.send_signal(signal.SIGCONT)

    async def restart_server(self, seconds: float) -> None:
        """Kill the server, and start it on the same port after a while."""
        await asyncio.to_thread(self.server.stop)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.server.start)

    async def end_workers(self) -> list[str]:
        """End all workers; return what was wrong with their ends."""
        statuses = await asyncio.gather(
            *(asyncio.to_thread(each.end) for each in self._workers), return_exceptions=True
        )
        return [f"a worker ended with {status!r}" for status in statuses if status != 0]

    def executed(self) -> Sequence[str]:
        """The ids of the requests that hooks ran for, once for each run."""
        return self._executed.read_text().split() if self._executed.exists() else []

    def _project(self, name: str) -> Path:
        project = self._scratch / name
        pause = f"sleep {SLOW_SECONDS}\n" if name == "slow" else ""
        script = project / "hook.sh"
        settings = project / ".hookline" / "settings.json"
        settings.parent.mkdir(parents=True)
        script.write_text("#!/bin/sh\n" + _HOOK.format(executed=self._executed, pause=pause))
        script.chmod(0o755)
        hook = {"type": "command", "name": GUARD, "command": "./hook.sh", "onFailure": "block"}
        settings.write_text(json.dumps({"hooks": {EVENT: [{"hooks": [hook]}]}}))
        return project
