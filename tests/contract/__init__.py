"""Triggers: what an agent loop calls, and what it gets when the engine fails."""
