"""``python -m hookline`` is the ``hookline`` command, for where its script is not on the PATH."""

from hookline.cli import run

if __name__ == "__main__":
    run()
