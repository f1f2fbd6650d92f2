"""Hooks in the agent you already have: one module a framework, each importing only its own."""
