"""``python -m hookline`` is the ``hookline`` command, for where its script is not on the PATH."""

import sys

from hookline.cli import main

if __name__ == "__main__":
    sys.exit(main())
