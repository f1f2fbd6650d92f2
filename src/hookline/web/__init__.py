"""Shared by all HTTP that hookline itself sends: to MCP servers, and to hooks."""
