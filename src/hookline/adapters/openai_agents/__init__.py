"""Hooks in an agent of OpenAI's Agents SDK: ``agent = hooked(Agent(…))``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own.
check_version("openai-agents", "openai-agents", "0.24", "0.25")

from hookline.adapters.openai_agents.guard import close as close  # noqa: E402
from hookline.adapters.openai_agents.guard import hooked as hooked  # noqa: E402
from hookline.adapters.openai_agents.items import read_question as read_question  # noqa: E402
