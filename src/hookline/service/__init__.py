"""Serves hooks to others: a worker on a bus (``hookline serve``), a proxy of an MCP server."""
