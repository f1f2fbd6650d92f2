"""Functions with hooks around every call keep their types."""

import asyncio

from hookline import BeforeToolEvent, BlockedByHook, Hooks, Reply, deny

hooks = Hooks()


@hooks.on("BeforeTool", matcher="^shell$")
def no_removal(event: BeforeToolEvent) -> Reply | None:
    return deny("no rm") if event["tool_input"]["command"].startswith("rm") else None


@hooks.wrap
def shell(command: str, *, times: int = 1) -> list[str]:
    return [f"ran {command}"] * times


@hooks.wrap(on_block="return", name="fetch")
async def get(url: str) -> str:
    return f"page of {url}"


lines: list[str] = shell("ls", times=2)
assert lines == ["ran ls", "ran ls"]
page: str = asyncio.run(get("example.org"))
assert page == "page of example.org"
reasons: list[str] = []
try:
    shell("rm -r .")
except BlockedByHook as blocked:
    reasons.append(blocked.reason)
assert reasons == ["no rm"]
