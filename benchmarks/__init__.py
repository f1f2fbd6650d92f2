"""Measures what hookline costs, compared with the same work without it and with its npm peer."""
