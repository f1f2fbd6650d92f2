"""The values that settings are combined from: a settings file, and the layer that it makes.

They are the same for every dialect; a Claude Code file has rules of its own besides.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from hookline._support.problem import Problem
from hookline.settings.definitions import HookRegistryEntry
from hookline.wire.hooks import HookSource, Redaction

if TYPE_CHECKING:
    from hookline.dialects.claude.settings import ClaudeRules

# A plugin's folder as settings name it, and what a host's tool is in Claude Code; each with its
# place in the settings, for problems.
NamedPlugin: TypeAlias = tuple[str, Problem]
DeclaredTool: TypeAlias = tuple[Mapping[str, Any], Problem]


class SettingsFile(msgspec.Struct, frozen=True):
    """A file that may hold settings, the layer they belong to, and their dialect."""

    path: str
    source: HookSource
    dialect: str = "native"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file, or one argument in code, says; None where it says nothing.

    ``claude`` is whether Claude Code's files are read, ``plugins`` are folders of its plugins, and
    ``tools`` maps the host's tools to Claude Code's; ``tool_names`` are all tools that the layer
    declares, also those with only a name. A layer with ``rules`` is a Claude Code file: all that
    it says is about hooks of that dialect.
    """

    source: HookSource
    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool | None = None
    disabled: tuple[str, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    redaction: Redaction | None = None
    trace: bool | None = None
    claude: bool | None = None
    plugins: tuple[NamedPlugin, ...] = ()
    tools: Mapping[str, DeclaredTool] = {}
    tool_names: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    rules: "ClaudeRules | None" = None
    problems: tuple[Problem, ...] = ()


class ReadSources(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: the layers of files and of the plugins that they name, highest priority
    first, and ``in_code`` those of plugins that code names.

    ``claude`` is whether the project's Claude Code files are read, None if no settings say.
    """

    layers: list[Layer] = []
    in_code: list[Layer] = []
    shared_env: Mapping[str, str] = {}
    claude: bool | None = None
