"""The callers, end to end: real scripts, real HTTP, and an agent whose behaviour changes."""
