"""Fires thousands of events with hooks that misbehave on purpose, and counts what they leave.

``make soak`` runs it for minutes, the suite for half a minute; both exit with 1 on a violation.
"""
