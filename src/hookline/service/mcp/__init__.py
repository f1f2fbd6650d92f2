"""The MCP proxy: hooks between any MCP client and any MCP server."""
