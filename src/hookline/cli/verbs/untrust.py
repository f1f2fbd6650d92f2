"""``hookline untrust``: the project's own hooks run no more until they are looked at again."""

import argparse
import os

from hookline.cli.failures import CommandError
from hookline.cli.screen import Screen
from hookline.config import Config
from hookline.pipeline.trust import TrustStore

EXAMPLES = ("hookline untrust", "hookline untrust --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Untrust has no arguments of its own."""


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Forget what was trusted; a project that was not trusted is fine."""
    if options.settings:
        raise CommandError("files given with --settings are your own and need no trust")
    project = os.path.realpath(Config.load(options.cwd).get_project_dir())
    was_trusted = TrustStore().forget(project)
    if options.json:
        screen.document({"project": project, "was_trusted": was_trusted})
    elif was_trusted:
        screen.line("the hooks of ", (project, "name"), " do not run any more")
        screen.line("`hookline trust` lets them again")
    else:
        screen.line("the hooks of ", (project, "name"), " were not trusted")
    return 0
