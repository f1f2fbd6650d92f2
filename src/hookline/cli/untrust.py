"""``hookline untrust``: stops the project's hooks until they are reviewed again."""

import os

from hookline.cli.options import SOURCES, Options, find_sources, flag
from hookline.cli.screen import Screen, count
from hookline.cli.trust import refuse_settings
from hookline.engine.project import Project
from hookline.trust.store import TrustStore

EXAMPLES = ("hookline untrust", "hookline untrust --stale", "hookline untrust --json")
OPTIONS = (
    flag("--stale", "forget the reviews of all projects whose folder is gone"),
    *SOURCES,
)


def run(options: Options, screen: Screen) -> int:
    """Forget what was trusted; a project that was not trusted is fine."""
    refuse_settings(options)
    if options.stale:
        return _forget_stale(options, screen)
    loaded = Project.load(options.cwd, **find_sources(options))
    project = os.path.realpath(loaded.project_dir)
    forgotten = [store.forget(project) for store in TrustStore.all()]
    was_trusted = any(forgotten)
    if options.json:
        screen.document({"project": project, "was_trusted": was_trusted})
    elif was_trusted:
        screen.line("the hooks of ", (project, "name"), " do not run any more")
        screen.line("`hookline trust` lets them run again")
    else:
        screen.line("the hooks of ", (project, "name"), " were not trusted")
    return 0


def _forget_stale(options: Options, screen: Screen) -> int:
    projects: dict[str, None] = {}
    for store in TrustStore.all():
        for project in [*store.list_projects()]:
            if not os.path.isdir(project):
                store.forget(project)
                projects[project] = None
    if options.json:
        screen.document({"forgotten": list(projects)})
        return 0
    for project in projects:
        screen.line((project, "name"), " is gone; its review is forgotten")
    screen.line(f"{count(len(projects), 'review')} forgotten")
    return 0
