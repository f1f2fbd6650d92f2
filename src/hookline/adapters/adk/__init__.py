"""Hooks in ADK's agents: ``App(…, plugins=[HooklinePlugin()])``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own.
check_version("google-adk", "adk", "2.13", "3")

from hookline.adapters.adk.plugin import HooklinePlugin as HooklinePlugin  # noqa: E402
from hookline.adapters.adk.summaries import HookedSummarizer as HookedSummarizer  # noqa: E402
