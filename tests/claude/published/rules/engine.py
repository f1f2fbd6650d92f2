"""Reads the rules that are written down beside the package."""

from pathlib import Path

PROTECTED = (Path(__file__).parent / "protected.txt").read_text().split()


def find_rule(path: str) -> str | None:
    return next((rule for rule in PROTECTED if path.endswith(rule)), None)
