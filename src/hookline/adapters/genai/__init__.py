"""Hooks for google-genai used directly: ``client = hooked(genai.Client, api_key=…)``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own.
check_version("google-genai", "genai", "2.34", "4")

from hookline.adapters.genai.client import hooked as hooked  # noqa: E402
