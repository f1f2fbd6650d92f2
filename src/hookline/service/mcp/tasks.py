"""Tasks of the protocol, whose results come in answers to other requests, where no hook sees them.

So a result that hooks must see may not come that way: the call that would begin its task is
refused, and so is a request for the result.
"""

from typing import Any

from hookline._support.notices import warn
from hookline.hooks import HookSession
from hookline.service.mcp.calls import Call
from hookline.service.mcp.messages import Message, find_variant
from hookline.service.mcp.results import Reply, refuse
from hookline.service.mcp.tools import ServerTools
from hookline.wire.events import HookEventName

MOST_TASKS = 10_000
_AFTER = HookEventName.AFTER_TOOL
_TASK_ID = frozenset({"taskId"})
_NO_LATER_RESULT = (
    "hooks must see the result of {tool}, and a task would give it later; call it without a task"
)


class TaskResults:
    """The tasks that the server of one session has begun, as far as hooks need to know them."""

    def __init__(self, hooks: HookSession, tools: ServerTools) -> None:
        self._hooks, self._tools = hooks, tools
        # By the id of a task, the tool whose result it will give.
        self._tool_names: dict[str, str] = {}

    def find_refusal(self, call: Call) -> Reply | None:
        """Return the refusal of a call as a task whose result hooks must see."""
        name = self._tools.name_for_hooks(call.name)
        if call.is_task and self._hooks.may_answer(_AFTER, name):
            return refuse(_NO_LATER_RESULT.format(tool=call.name), is_modern=call.is_modern)
        return None

    def check_reply(self, call: Call, reply: Reply) -> Reply:
        """Return the reply, or a refusal if its result comes later and hooks must see it."""
        if not reply.is_unfinished:
            return reply
        name = self._tools.name_for_hooks(call.name)
        if self._hooks.may_answer(_AFTER, name):
            warn(f"the MCP server made a task of {call.name}: {_NO_LATER_RESULT.format(tool=name)}")
            return refuse(_NO_LATER_RESULT.format(tool=call.name), is_modern=call.is_modern)
        if reply.task_id is not None and len(self._tool_names) < MOST_TASKS:
            self._tool_names[reply.task_id] = name
        return reply

    def may_fetch(self, request: Message) -> bool:
        """Return True if the client may have the result that it asks for."""
        has_variant = find_variant(request.params, _TASK_ID) is not None
        return not has_variant and not self._must_be_seen(request.params.get("taskId"))

    def may_pass(self, message: Message) -> bool:
        """Return False for a notification with a result that hooks must see."""
        is_of_task = str(message.method).startswith("notifications/tasks")
        has_result = is_of_task and "result" in message.params
        return not has_result or not self._must_be_seen(message.params.get("taskId"))

    def _must_be_seen(self, task_id: Any) -> bool:
        name = self._tool_names.get(task_id) if isinstance(task_id, str) else None
        if name is not None:
            return self._hooks.may_answer(_AFTER, name)
        # The task may be of any tool.
        engine = self._hooks.view.engine
        if engine.is_off():
            return False
        hooks = engine.registry.get_all_hooks()
        return engine.may_answer(_AFTER) or any(hook.event is _AFTER for hook in hooks)
