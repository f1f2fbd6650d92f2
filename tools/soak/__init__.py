"""Thousands of events with hooks that misbehave on purpose, and a count of what is left of them.

``make soak`` runs it for minutes, the suite for half a minute; both exit with 1 on a violation.
"""
