"""The hooks that a command line may name, out of the settings that it would be run with."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from hookline.config import Config
from hookline.pipeline.registry import HookRegistryEntry

# A verb -> the hooks it is for; others are for all.
_FOR: Mapping[str, Callable[[HookRegistryEntry], bool]] = {
    "enable": lambda entry: not entry.enabled,
    "disable": lambda entry: entry.enabled and not entry.hook.managed,
}


def hook_names(words: Sequence[str]) -> list[str]:
    """Names for a command line, given by its words behind ``hookline`` so far.

    A name that would not show as it is cannot be told from another, and could steer a terminal:
    it is left out.
    """
    cwd = _values(words, "--cwd")[-1:] or ["."]
    settings = [file for file in _values(words, "--settings") if os.path.isfile(file)]
    if not os.path.isdir(cwd[0]):
        return []
    config = Config.load(cwd[0], settings_files=settings or None)
    is_meant = _FOR.get(words[0]) if words else None
    entries = config.get_settings().entries
    names = (entry.name for entry in entries if is_meant is None or is_meant(entry))
    shown = [name for name in dict.fromkeys(names) if name.isprintable()]
    # Before a -- such a name would be read as an option.
    return [name for name in shown if not name.startswith("-") or "--" in words]


def _values(words: Sequence[str], option: str) -> list[str]:
    behind = [value for word, value in pairwise(words) if word == option]
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    return [os.path.expanduser(value) for value in (*behind, *joined)]
