"""What all HTTP that hookline itself sends has in common: to MCP servers, and to hooks."""
