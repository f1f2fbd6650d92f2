"""Makes an environment as a user has it: hookline and its requirements, no development tools.

What else is installed shows in the time a start takes. The files are copied from the environment
that measures, so that nothing has to be downloaded.
"""

import contextlib
import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import hookline

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# As the pip of Python 3.11 writes it; later versions omit the regular expression.
_SCRIPT = r"""#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from hookline.cli import run
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\.pyw|\.exe)?$', '', sys.argv[0])
    run()
"""


class Environment:
    """Its interpreter and its ``hookline`` command."""

    def __init__(self, directory: Path) -> None:
        self.python = directory / "bin" / "python"
        self.hookline = directory / "bin" / "hookline"


def install(directory: Path) -> Environment:
    """Make the environment, its modules compiled."""
    environment = Environment(directory)
    venv.create(directory, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(directory)}))
    for needed in _with_requirements(tomllib.loads(_PROJECT.read_text())["project"]):
        _copy(needed, packages)
    package = Path(hookline.__file__).parent
    shutil.copytree(package, packages / package.name)
    environment.hookline.write_text(_SCRIPT.format(python=environment.python))
    environment.hookline.chmod(0o755)
    # A package may have a file for another release of Python, which does not compile.
    subprocess.run([environment.python, "-m", "compileall", "-qq", packages], check=False)
    return environment


def _with_requirements(project: Mapping[str, Any]) -> list[Distribution]:
    """The requirements of the project and theirs in turn, as far as they apply here."""
    found: dict[str, Distribution] = {}
    left = list(project["dependencies"])
    while left:
        requirement = left.pop()
        name = re.split(r"[^\w.-]", requirement)[0]
        if name in found or "extra ==" in requirement:
            continue
        # A requirement that is not installed is for another release of Python.
        with contextlib.suppress(PackageNotFoundError):
            found[name] = distribution(name)
            left += found[name].requires or ()
    return list(found.values())


def _copy(needed: Distribution, packages: Path) -> None:
    for file in needed.files or ():
        # Commands and manuals are outside of the directory of packages.
        if ".." in file.parts:
            continue
        source, target = Path(str(file.locate())), packages / file
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
