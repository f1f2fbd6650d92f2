"""Pytest plugins that make every test answer for what it leaves running, open or written."""
