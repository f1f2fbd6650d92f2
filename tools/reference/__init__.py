"""Writes docs/reference from the code: its text about a name is read where the name is declared.

One module a kind of page, each with plain functions that give Markdown; ``pages.PAGES`` has them
all. ``tests/test_reference.py`` fails when what is committed and what the code says differ.
"""
