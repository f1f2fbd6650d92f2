"""Which files nobody edits by hand."""
