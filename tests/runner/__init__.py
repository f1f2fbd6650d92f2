"""Hooks that run for real: processes, shells and functions."""
