"""The callers that apply what hooks say: a tool scheduler, a chat, and the loop over both."""

from hookline.agent.chat import Chat, ModelTurn
from hookline.agent.loop import Agent, TurnResult
from hookline.agent.providers import Conversation, FunctionCall, ModelProvider
from hookline.agent.providers.genai import GenAIProvider
from hookline.agent.providers.scripted import ScriptedProvider
from hookline.agent.scheduler import CallStatus, ScheduledCall, ToolScheduler
from hookline.agent.tools import Tool

__all__ = [
    "Agent",
    "CallStatus",
    "Chat",
    "Conversation",
    "FunctionCall",
    "GenAIProvider",
    "ModelProvider",
    "ModelTurn",
    "ScheduledCall",
    "ScriptedProvider",
    "Tool",
    "ToolScheduler",
    "TurnResult",
]
