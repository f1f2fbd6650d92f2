"""The soak, in short: it passes, and what it would find it does find."""
