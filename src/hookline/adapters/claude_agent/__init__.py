"""Hooks in an agent of the Claude Agent SDK: ``options = hooked(ClaudeAgentOptions(…))``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own.
check_version("claude-agent-sdk", "claude", "0.2.180", "0.3")

from hookline.adapters.claude_agent.options import HookedOptions as HookedOptions  # noqa: E402
from hookline.adapters.claude_agent.options import hooked as hooked  # noqa: E402
