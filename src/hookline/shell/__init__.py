"""Reads shell commands: their tokens, the commands they hold, and what those start."""
