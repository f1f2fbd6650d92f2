"""An MCP server with one tool."""

from mcp.server import MCPServer

server = MCPServer("desk")


@server.tool()
def shout(text: str) -> str:
    """Say it louder."""
    if text == "fail":
        raise ValueError("hoarse")
    return text.upper()


if __name__ == "__main__":
    server.run("stdio")
