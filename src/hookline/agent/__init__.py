"""The callers that apply what hooks say: a tool scheduler, a chat, and the loop over both."""

from hookline.agent.chat import Chat, ModelTurn
from hookline.agent.loop import Agent, TurnResult
from hookline.agent.providers import Conversation, ModelProvider
from hookline.agent.providers.anthropic import AnthropicProvider
from hookline.agent.providers.genai import GenAIProvider
from hookline.agent.providers.openai import OpenAIProvider
from hookline.agent.providers.scripted import ScriptedProvider
from hookline.agent.scheduler import CallStatus, ScheduledCall, ToolScheduler
from hookline.agent.tools import Tool
from hookline.agent.turns import CallResult, FunctionCall, Media, Native, Opaque, Text, Turn

__all__ = [
    "Agent",
    "AnthropicProvider",
    "CallResult",
    "CallStatus",
    "Chat",
    "Conversation",
    "FunctionCall",
    "GenAIProvider",
    "Media",
    "ModelProvider",
    "ModelTurn",
    "Native",
    "Opaque",
    "OpenAIProvider",
    "ScheduledCall",
    "ScriptedProvider",
    "Text",
    "Tool",
    "ToolScheduler",
    "Turn",
    "TurnResult",
]
