"""Writes constraints that hold what users install to the lower bounds of pyproject.toml.

``make test-lowest`` installs with them. Tools of the suite, and what packages bring along, are
free: their newest releases need not agree with the lowest ones of ours.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

TRIED = ("genai", "nats", "watch")


def find_lowest(project: Path) -> Iterator[str]:
    """Yield a pin for each package that hookline or an extra of the core suite asks for."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = [name for extra in TRIED for name in table["optional-dependencies"][extra]]
    for requirement in [*table["dependencies"], *extras]:
        bound = re.fullmatch(r"([\w.-]+)>=([\w.]+)(?:,.*)?", requirement)
        if bound is None:
            raise SystemExit(f"{requirement} in {project} has no lower bound")
        yield f"{bound[1]}=={bound[2]}"


if __name__ == "__main__":
    print("\n".join(find_lowest(Path(sys.argv[1]))))
