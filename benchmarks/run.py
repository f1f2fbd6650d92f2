"""Measures the engine beside its baselines; ``docs/performance.md`` says how to read the table.

Run as a script: the package it belongs to is found from the script's own place.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks.command import main

    sys.exit(main())
