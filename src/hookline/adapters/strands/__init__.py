"""Hooks in Strands' agents: ``Agent(…, plugins=[HooklinePlugin()])``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own.
check_version("strands-agents", "strands", "1.62", "2")

from hookline.adapters.strands.plugin import HooklinePlugin as HooklinePlugin  # noqa: E402
