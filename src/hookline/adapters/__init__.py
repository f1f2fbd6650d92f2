"""Hooks in the agent you already have: one module a framework, each of which imports only its own."""
