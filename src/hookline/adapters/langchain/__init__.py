"""Hooks in LangChain's agents: ``create_agent(…, middleware=[HooklineMiddleware()])``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own.
check_version("langchain", "langchain", "1.4", "2")

from hookline.adapters.langchain.marks import stop_reason as stop_reason  # noqa: E402
from hookline.adapters.langchain.middleware import (  # noqa: E402
    HookedSummarization as HookedSummarization,
)
from hookline.adapters.langchain.middleware import (  # noqa: E402
    HooklineMiddleware as HooklineMiddleware,
)
