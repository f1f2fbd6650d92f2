"""``python -m hookline`` runs the ``hookline`` command, if its script is not on the PATH."""

from hookline.cli import run

if __name__ == "__main__":
    run()
