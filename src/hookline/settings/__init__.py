"""Settings files: read, put in layers, edited, described."""
