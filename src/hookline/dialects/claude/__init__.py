"""The dialect of Claude Code: its settings, the documents its hooks read, how they answer."""

from hookline.dialects.claude.dialect import ClaudeDialect

__all__ = ["DIALECT", "ClaudeDialect"]

DIALECT = ClaudeDialect()
