"""Sends thousands of requests over a real NATS server to real workers, while breaking both.

``make soak-bus`` runs it for minutes, the suite for some seconds; both exit with 1 on a violation.
"""
