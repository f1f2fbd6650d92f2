"""Writes the reference: ``python tools/reference/run.py [--check]``

Run as a script: the package it belongs to is found from the script's own place.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tools.reference.command import main

    sys.exit(main())
