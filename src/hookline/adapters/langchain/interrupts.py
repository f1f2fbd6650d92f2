"""How langgraph interrupts a task and resumes it with an answer.

langgraph tells a task neither that it was resumed nor what it was interrupted for. Both are in the
config of the task, under keys that langgraph does not export, and in the checkpoint. If a release
changes them, a resumed call fires its BeforeTool hooks again before the user's answer counts, and
where the checkpointer is not found a hook's question is refused with the advice to add one.
"""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import ToolCallRequest
from langgraph.constants import CONFIG_KEY_CHECKPOINTER

from hookline.adapters.langchain.marks import count_calls

_SCRATCHPAD, _INTERRUPT = "__pregel_scratchpad", "__interrupt__"
# How the path of a task begins that was sent to its node by itself.
_SENT = ("__pregel_push",)


class Task:
    """The task that runs a tool call."""

    def __init__(self, request: ToolCallRequest) -> None:
        self._request = request
        self._config = request.runtime.config
        self._info = request.runtime.execution_info
        configurable = self._config.get("configurable", {})
        self._saver: Any = configurable.get(CONFIG_KEY_CHECKPOINTER)
        self._pad: Any = configurable.get(_SCRATCHPAD)

    @property
    def id(self) -> str | None:
        """The id of the task, which it keeps when it is resumed."""
        return self._info.task_id if self._info is not None else None

    @property
    def has_resumed(self) -> bool:
        """True if an interrupt of this very task was answered before."""
        return bool(getattr(self._pad, "resume", None))

    @property
    def is_answered(self) -> bool:
        """True if the run was resumed with a value for the next interrupt of this call."""
        try:
            return self.has_resumed or self._pad.get_null_resume(False) is not None
        except (AttributeError, TypeError):
            return False

    def find_hindrance(self) -> str | None:
        """Return what to change so that the run can be interrupted; None if it can be."""
        if not self._saver:
            return "give the agent a checkpointer"
        path = tuple(self._config.get("metadata", {}).get("langgraph_path", ()))
        if path[:1] == _SENT or count_calls(self._request.state) <= 1:
            return None
        # With the answer the step would start again and run the other calls a second time; and
        # the first of them that asks would get the answer.
        return "several calls run in one step, so Send each to the tool node by itself"

    async def read_writes(self, *, blocking: bool) -> tuple[list[Any], Any]:
        """Return what the tasks of this step have written so far, and the value of the interrupt of
        this task, None if it was not interrupted."""
        if self._info is None or not self._saver:
            return [], None
        place = {
            "thread_id": self._config.get("configurable", {}).get("thread_id"),
            "checkpoint_ns": self._info.checkpoint_ns.rpartition("|")[0],
            "checkpoint_id": self._info.checkpoint_id,
        }
        if blocking:
            checkpoint = self._saver.get_tuple({"configurable": place})
        else:
            checkpoint = await self._saver.aget_tuple({"configurable": place})
        writes: Sequence[Any] = (checkpoint and checkpoint.pending_writes) or ()
        own = (v for task, channel, v in writes if task == self.id and channel == _INTERRUPT)
        interrupts = next(own, None)
        question = interrupts[0].value if interrupts is not None else None
        return [value for _, _, value in writes], question
