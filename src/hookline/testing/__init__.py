"""Runners and conformance suites for people who test hooks or build on hookline."""
