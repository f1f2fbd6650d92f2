"""What hook scripts read and answer: frozen values and JSON, with no SDK and no I/O."""
