"""Moves hooks of Gemini CLI and LLxprt Code into our settings, and says what moves and what stays.

These agents' hooks mean the same here, so moving one copies it. Nothing is run.
"""
