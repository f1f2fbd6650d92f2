"""The types of what a hook reads of each event, for type checkers and the reference; firing an
event does not load this module."""

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from hookline.wire.model import LLMRequest, LLMResponse

# Fields that several events have.
_ToolName: TypeAlias = Annotated[
    str,
    Meta(description="The name of the tool as the agent calls it; matchers are searched in it."),
]
_ToolInput: TypeAlias = Annotated[
    dict[str, Any], Meta(description="The arguments of the call, by their names.")
]
_McpContext: TypeAlias = Annotated[
    dict[str, Any],
    Meta(description="The MCP server that the tool belongs to; left out for every other tool."),
]
_RequestName: TypeAlias = Annotated[
    str,
    Meta(
        description="The tool that was called first, where a hook asked for this call to follow it."
    ),
]
_Prompt: TypeAlias = Annotated[str, Meta(description="What the user asked of the agent.")]
_Reply: TypeAlias = Annotated[
    str, Meta(description="What the agent answered at the end of the turn.")
]
_StopHookActive: TypeAlias = Annotated[
    bool,
    Meta(
        description="True if the turn only went on because an AfterAgent hook rejected its end. "
        "Let it end now, or the agent goes round in circles."
    ),
]
_Request: TypeAlias = Annotated[
    LLMRequest,
    Meta(description="The request to the model, in one form whatever SDK the agent uses."),
]
_Response: TypeAlias = Annotated[
    LLMResponse,
    Meta(description="The response of the model, in one form whatever SDK the agent uses."),
]
_SdkRequest: TypeAlias = Annotated[
    dict[str, Any],
    Meta(description="The SDK's request as JSON, which a caller may send in place of llm_request."),
]
_SdkResponse: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        description="The SDK's response as JSON, which a caller may send in place of llm_response."
    ),
]
_AvailableTools: TypeAlias = Annotated[
    list[str],
    Meta(description="The names of the tools that the request offers; left out if it has none."),
]


class HookInput(TypedDict):
    """The fields every hook reads first, in this order."""

    session_id: Annotated[
        str, Meta(description="The session of the agent; every event of it has the same one.")
    ]
    transcript_path: Annotated[
        str, Meta(description="The file that holds the conversation; empty until there is one.")
    ]
    cwd: Annotated[
        str,
        Meta(description="The working directory of the agent; a command hook is started in it."),
    ]
    hook_event_name: Annotated[
        str, Meta(description="The name of the event, for a script that serves several.")
    ]
    timestamp: Annotated[
        str, Meta(description="When the event happened: ISO 8601, UTC, with milliseconds and Z.")
    ]


class AgentFields(TypedDict):
    """An agent that another agent's tool runs."""

    name: Annotated[str, Meta(description="The name of the agent.")]
    id: NotRequired[Annotated[str, Meta(description="The id of this run of the agent.")]]
    parent: NotRequired[
        Annotated[str, Meta(description="The name of the agent whose tool runs this one.")]
    ]
    depth: Annotated[
        int, Meta(description="1 for an agent that the user's own agent runs, 2 for one below.")
    ]


class ActorFields(TypedDict, total=False):
    """The fields every hook reads last, each only where it is known."""

    turn_id: Annotated[
        str,
        Meta(
            description="The turn: from one prompt of the user to the agent's answer, with all "
            "that sub-agents do for it."
        ),
    ]
    agent: Annotated[
        AgentFields,
        Meta(description="The sub-agent that fires the event; left out for the user's own agent."),
    ]
    labels: Annotated[
        dict[str, str],
        Meta(description="What the agent's program says of the user or the tenant it serves."),
    ]


class BeforeToolInput(TypedDict):
    """BeforeTool's own fields."""

    tool_name: _ToolName
    tool_input: _ToolInput
    mcp_context: NotRequired[_McpContext]
    original_request_name: NotRequired[_RequestName]


class AfterToolInput(TypedDict):
    """AfterTool's own fields."""

    tool_name: _ToolName
    tool_input: _ToolInput
    tool_response: Annotated[
        Any,
        Meta(
            description="What the tool gave back. Of the tools that hookline runs or sees in an "
            "agent it is an object: `llmContent`, what the model reads, is a text or a list of "
            'texts and parts (`{"text": "…"}`, an image); `returnDisplay`, `metadata` and `error` '
            "(`type`, `message`) are left out where there is none. A caller that fires the event "
            "by hand may give any JSON value."
        ),
    ]
    original_tool_input: NotRequired[
        Annotated[
            dict[str, Any],
            Meta(description="The arguments before hooks changed them; left out if none did."),
        ]
    ]
    mcp_context: NotRequired[_McpContext]
    original_request_name: NotRequired[_RequestName]


class BeforeAgentInput(TypedDict):
    """BeforeAgent's own field."""

    prompt: _Prompt


class AfterAgentInput(TypedDict):
    """AfterAgent's own fields."""

    prompt: _Prompt
    prompt_response: _Reply
    stop_hook_active: NotRequired[_StopHookActive]


class BeforeModelInput(TypedDict, total=False):
    """BeforeModel's own field: hooks read ``llm_request``, the bus takes either name."""

    llm_request: _Request
    model_request: _SdkRequest


class AfterModelInput(BeforeModelInput, total=False):
    """AfterModel's own fields: hooks read the ``llm_`` names, the bus takes either."""

    llm_response: _Response
    model_response: _SdkResponse


class BeforeToolSelectionInput(BeforeModelInput, total=False):
    """BeforeToolSelection's own fields."""

    available_tools: _AvailableTools


class SessionStartInput(TypedDict):
    """SessionStart's own field."""

    source: Annotated[
        Literal["startup", "resume", "clear", "compress"],
        Meta(description="Why the session starts; matchers are compared with it."),
    ]


class SessionEndInput(TypedDict):
    """SessionEnd's own field."""

    reason: Annotated[
        Literal["exit", "clear", "logout", "prompt_input_exit", "other"],
        Meta(description="Why the session ends; matchers are compared with it."),
    ]


class PreCompressInput(TypedDict):
    """PreCompress's own field."""

    trigger: Annotated[
        Literal["manual", "auto"],
        Meta(
            description="Who asks for it: the user, or the agent because the history grew long. "
            "Matchers are compared with it."
        ),
    ]


class NotificationInput(TypedDict):
    """Notification's own fields."""

    message: Annotated[str, Meta(description="The text that the user should see.")]
    notification_type: NotRequired[
        Annotated[
            str,
            Meta(description="The kind, such as ToolPermission; matchers are compared with it."),
        ]
    ]
    level: NotRequired[
        Annotated[str, Meta(description="How urgent it is, in the words of the agent.")]
    ]
    details: NotRequired[
        Annotated[
            dict[str, Any],
            Meta(description="What the agent adds to it; the kind decides what that is."),
        ]
    ]


class BeforeToolEvent(HookInput, BeforeToolInput, ActorFields):
    """What a hook reads before a tool runs."""


class AfterToolEvent(HookInput, AfterToolInput, ActorFields):
    """What a hook reads after a tool ran."""


class BeforeAgentEvent(HookInput, BeforeAgentInput, ActorFields):
    """What a hook reads before a turn."""


class _AfterAgentFields(TypedDict):
    prompt: _Prompt
    prompt_response: _Reply
    stop_hook_active: _StopHookActive


class AfterAgentEvent(HookInput, _AfterAgentFields, ActorFields):
    """What a hook reads after a turn."""


class _RequestField(TypedDict):
    llm_request: _Request


class _ResponseField(TypedDict):
    llm_response: _Response


class _ToolsField(TypedDict, total=False):
    available_tools: _AvailableTools


class BeforeModelEvent(HookInput, _RequestField, ActorFields):
    """What a hook reads before the model is called."""


class AfterModelEvent(HookInput, _RequestField, _ResponseField, ActorFields):
    """What a hook reads after the model answered."""


class BeforeToolSelectionEvent(HookInput, _RequestField, _ToolsField, ActorFields):
    """What a hook reads before the model is offered its tools."""


class SessionStartEvent(HookInput, SessionStartInput, ActorFields):
    """What a hook reads when a session starts."""


class SessionEndEvent(HookInput, SessionEndInput, ActorFields):
    """What a hook reads when a session ends."""


class PreCompressEvent(HookInput, PreCompressInput, ActorFields):
    """What a hook reads before the history is compressed."""


class NotificationEvent(HookInput, NotificationInput, ActorFields):
    """What a hook reads when the user should be told something."""
