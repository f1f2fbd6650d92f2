"""Which files of other agents there are for a directory, and which of ours each would go into."""

import os
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from hookline.pipeline.settings import find_project_dir
from hookline.places import home_dir, user_config_dir

Agent: TypeAlias = Literal["claude", "gemini"]
Layer: TypeAlias = Literal["project", "user"]

# Agent -> its files below a project or the home, and the name each has here.
_FILES: dict[Agent, tuple[tuple[str, str], ...]] = {
    "claude": (
        (".claude/settings.json", "settings.json"),
        (".claude/settings.local.json", "settings.local.json"),
    ),
    "gemini": (
        (".gemini/settings.json", "settings.json"),
        (".llxprt/settings.json", "settings.json"),
    ),
}


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A settings file of another agent, and the file of ours for what is in it."""

    file: str
    agent: Agent
    layer: Layer
    target: str


class Places(msgspec.Struct, frozen=True):
    """Where a migration looks and writes."""

    project_dir: str
    home: str | None
    user_dir: str | None


def find_places(cwd: str) -> Places:
    """The project of a directory, which may so far be the project of another agent only."""
    home = home_dir()
    return Places(
        _claude_project(cwd, home) or find_project_dir(cwd, home), home, user_config_dir()
    )


def find_sources(places: Places, agents: Sequence[Agent]) -> list[Source]:
    """The files that are there; one reached twice counts once, as the user's."""
    found: dict[str, Source] = {}
    for source in _possible(places, agents):
        if os.path.exists(source.file):
            found.setdefault(os.path.realpath(source.file), source)
    return sorted(found.values(), key=lambda source: source.layer == "user")


def given_source(file: str, agent: Agent, places: Places) -> Source:
    """A file that was named; what is in it is for the project."""
    target = os.path.join(places.project_dir, ".hookline", "settings.json")
    return Source(file=os.path.abspath(file), agent=agent, layer="project", target=target)


def _possible(places: Places, agents: Sequence[Agent]) -> Iterator[Source]:
    below: tuple[tuple[Layer, str | None, str | None], ...] = (
        ("user", places.home, places.user_dir),
        ("project", places.project_dir, os.path.join(places.project_dir, ".hookline")),
    )
    for layer, start, ours in below:
        for agent in agents if start is not None and ours is not None else ():
            for name, own_name in _FILES[agent]:
                file = os.path.join(str(start), name)
                target = os.path.join(str(ours), own_name)
                yield Source(file=file, agent=agent, layer=layer, target=target)


def _claude_project(cwd: str, home: str | None) -> str | None:
    directory = cwd
    while True:
        is_home = home is not None and os.path.realpath(directory) == os.path.realpath(home)
        files = (os.path.join(directory, name) for name, _ in _FILES["claude"])
        if not is_home and any(map(os.path.exists, files)):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
