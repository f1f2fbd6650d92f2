"""Runs the hooks of a plan; one module a kind of hook, and one that owns processes."""
