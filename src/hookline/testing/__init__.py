"""For those who test hooks, and those who build on hookline: runners and conformance suites."""
