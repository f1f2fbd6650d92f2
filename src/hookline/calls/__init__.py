"""One call between its hooks: of a tool, of a model."""
