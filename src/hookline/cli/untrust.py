"""``hookline untrust``: stops the project's hooks until they are reviewed again."""

import os

from hookline.cli.options import SOURCES, Options, find_sources
from hookline.cli.screen import Screen
from hookline.cli.trust import refuse_settings
from hookline.config import Config
from hookline.pipeline.trust.store import TrustStore

EXAMPLES = ("hookline untrust", "hookline untrust --json")
OPTIONS = SOURCES


def run(options: Options, screen: Screen) -> int:
    """Forget what was trusted; a project that was not trusted is fine."""
    refuse_settings(options)
    config = Config.load(options.cwd, **find_sources(options))
    project = os.path.realpath(config.get_project_dir())
    was_trusted = TrustStore().forget(project)
    if options.json:
        screen.document({"project": project, "was_trusted": was_trusted})
    elif was_trusted:
        screen.line("the hooks of ", (project, "name"), " do not run any more")
        screen.line("`hookline trust` lets them run again")
    else:
        screen.line("the hooks of ", (project, "name"), " were not trusted")
    return 0
