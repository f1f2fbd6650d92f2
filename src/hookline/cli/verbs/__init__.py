"""One module a verb; ``hookline.cli.VERBS`` is the table of them."""
