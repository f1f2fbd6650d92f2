"""Hooks in agents of the Claude Agent SDK."""
