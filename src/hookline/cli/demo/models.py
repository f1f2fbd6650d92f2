"""Chooses the model for ``--live``: the one named, or the default of the first key that is set."""

import os
import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from hookline.agent.providers.anthropic import AnthropicProvider
from hookline.agent.providers.genai import GenAIProvider
from hookline.agent.providers.openai import OpenAIProvider
from hookline.cli.failures import CommandError

LiveProvider: TypeAlias = GenAIProvider | OpenAIProvider | AnthropicProvider


class Family(NamedTuple):
    """The models of one maker: the variables that hold a key, a pattern of their names, and the
    default model."""

    maker: str
    keys: tuple[str, ...]
    names: str
    default: str
    provide: Callable[[str], LiveProvider]

    @property
    def has_key(self) -> bool:
        """True if the environment has a key for these models."""
        return any(os.environ.get(key) for key in self.keys)


# In the order in which keys are tried.
FAMILIES = (
    Family(
        "Google",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        r"(models/)?gemini",
        "gemini-flash-latest",
        GenAIProvider,
    ),
    Family("OpenAI", ("OPENAI_API_KEY",), r"gpt|chatgpt|o\d", "gpt-5.4-mini", OpenAIProvider),
    Family("Anthropic", ("ANTHROPIC_API_KEY",), r"claude", "claude-sonnet-5", AnthropicProvider),
)


def live_model(model: str | None) -> LiveProvider:
    """Return the provider of a model; an unknown name goes to the first key that is set."""
    families = [family for family in FAMILIES if model and re.match(family.names, model)]
    if families and not families[0].has_key:
        raise CommandError(f"{model} is a model of {families[0].maker}: set {families[0].keys[0]}")
    able = [family for family in families or FAMILIES if family.has_key]
    if not able:
        *others, last = (family.keys[0] for family in FAMILIES)
        raise CommandError(
            f"--live needs the key of a model: set {', '.join(others)} or {last}, "
            "or leave --live out for the scripted model"
        )
    return able[0].provide(model or able[0].default)
