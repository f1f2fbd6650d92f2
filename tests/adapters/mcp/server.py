"""A server made with the ``mcp`` package, for the tests of the proxy."""

import asyncio
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("real", instructions="Ask before you write.")


class Person(BaseModel):
    """What a tool says about somebody."""

    name: str
    mail: str


class Amount(BaseModel):
    """What a tool wants to know."""

    number: int


@server.tool()
def person(name: str) -> Person:
    return Person(name=name, mail=f"{name}@example.org")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def picture() -> Image:
    return Image(data=b"\x89PNG", format="png")


@server.tool()
def fail() -> str:
    raise ToolError("the disk s3cret is full")


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    for step in range(count):
        await ctx.report_progress(step + 1, count)
    return "done"


@server.tool()
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "waited"


def how_many() -> Elicit[Amount]:
    return Elicit("How many?", Amount)


@server.tool()
async def order(what: str, amount: Annotated[Amount, Resolve(how_many)]) -> str:
    return f"{amount.number} of {what}"


@server.resource("memo://{name}")
def memo(name: str) -> str:
    return f"memo {name}"


@server.prompt()
def review(code: str) -> str:
    return f"Review {code}"


if __name__ == "__main__":
    server.run()
