"""What a hook reads of each event, for type checkers: to fire one, none of this is loaded."""

from typing import Any, Literal, NotRequired, TypedDict

from hookline.wire.model import LLMRequest, LLMResponse


class HookInput(TypedDict):
    """The fields every hook reads first, in this order."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: str
    timestamp: str


class BeforeToolInput(TypedDict):
    """BeforeTool's own fields."""

    tool_name: str
    tool_input: dict[str, Any]
    mcp_context: NotRequired[dict[str, Any]]
    original_request_name: NotRequired[str]


class AfterToolInput(TypedDict):
    """AfterTool's own fields."""

    tool_name: str
    tool_input: dict[str, Any]
    tool_response: Any
    original_tool_input: NotRequired[dict[str, Any]]
    mcp_context: NotRequired[dict[str, Any]]
    original_request_name: NotRequired[str]


class BeforeAgentInput(TypedDict):
    """BeforeAgent's own field."""

    prompt: str


class AfterAgentInput(TypedDict):
    """AfterAgent's own fields."""

    prompt: str
    prompt_response: str
    stop_hook_active: NotRequired[bool]


class BeforeModelInput(TypedDict, total=False):
    """BeforeModel's own field: hooks read ``llm_request``, the bus takes either name."""

    llm_request: LLMRequest
    model_request: dict[str, Any]


class AfterModelInput(BeforeModelInput, total=False):
    """AfterModel's own fields: hooks read the ``llm_`` names, the bus takes either."""

    llm_response: LLMResponse
    model_response: dict[str, Any]


class BeforeToolSelectionInput(BeforeModelInput, total=False):
    """BeforeToolSelection's own fields."""

    available_tools: list[str]


class SessionStartInput(TypedDict):
    """SessionStart's own field."""

    source: Literal["startup", "resume", "clear", "compress"]


class SessionEndInput(TypedDict):
    """SessionEnd's own field."""

    reason: Literal["exit", "clear", "logout", "prompt_input_exit", "other"]


class PreCompressInput(TypedDict):
    """PreCompress's own field."""

    trigger: Literal["manual", "auto"]


class NotificationInput(TypedDict):
    """Notification's own fields."""

    message: str
    notification_type: NotRequired[str]
    level: NotRequired[str]
    details: NotRequired[dict[str, Any]]


class BeforeToolEvent(HookInput, BeforeToolInput):
    """What a hook reads before a tool runs."""


class AfterToolEvent(HookInput, AfterToolInput):
    """What a hook reads after a tool ran."""


class BeforeAgentEvent(HookInput, BeforeAgentInput):
    """What a hook reads before a turn."""


class AfterAgentEvent(HookInput):
    """What a hook reads after a turn."""

    prompt: str
    prompt_response: str
    stop_hook_active: bool


class BeforeModelEvent(HookInput):
    """What a hook reads before the model is called."""

    llm_request: LLMRequest


class AfterModelEvent(BeforeModelEvent):
    """What a hook reads after the model answered."""

    llm_response: LLMResponse


class BeforeToolSelectionEvent(BeforeModelEvent):
    """What a hook reads before the model is offered its tools."""

    available_tools: NotRequired[list[str]]


class SessionStartEvent(HookInput, SessionStartInput):
    """What a hook reads when a session starts."""


class SessionEndEvent(HookInput, SessionEndInput):
    """What a hook reads when a session ends."""


class PreCompressEvent(HookInput, PreCompressInput):
    """What a hook reads before the history is compressed."""


class NotificationEvent(HookInput, NotificationInput):
    """What a hook reads when the user should be told something."""
