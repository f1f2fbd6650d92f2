"""Soaks hooks over NATS: ``python tools/soak_bus/run.py [--requests 10000] [--at-once 200]``

Run as a script: the package it belongs to is found from the script's own place.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tools.soak_bus.command import main

    sys.exit(main())
