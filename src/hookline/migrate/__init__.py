"""Moves other agents' hooks into our settings, and says what moves, what changes and what stays.

A hook moves only if it will do the same here; in doubt it is refused. Scripts are read and never
run.
"""
