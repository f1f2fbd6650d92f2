"""What hook scripts see and say: frozen values and JSON, with no SDK and no input or output."""
