"""A dialect of one event and one tool, to show what another dialect takes: this file, and a row."""

from collections.abc import Mapping
from typing import Any

from hookline.dialects.native import NativeDialect
from hookline.dialects.tools import ShownCall, ToolAlias, show_as_alias
from hookline.wire.events import EventName, EventSpec, HookEventName
from hookline.wire.fired import FiredEvent, read_fired_event


class ToyEventName(EventName):
    __hash__ = str.__hash__

    BELL_RUNG = "BellRung"


class ToyDialect(NativeDialect):
    """Calls BeforeTool ``aboutToRun``, and the shell ``sh``."""

    name = "toy"
    extra_events: Mapping[str, EventSpec] = {
        "BellRung": EventSpec(ToyEventName.BELL_RUNG, ("tone",), target="tone")
    }
    fired_by_all = frozenset[str]()
    fired_by_some = frozenset[str]()

    def event_for(self, key: str) -> EventName | None:
        if key == "aboutToRun":
            return HookEventName.BEFORE_TOOL
        return self.extra_events[key].event if key in self.extra_events else None

    def event_names(self) -> tuple[str, ...]:
        return ("aboutToRun", *self.extra_events)

    def is_in_words(self, event: EventName, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002
        return False

    def read_event(
        self, name: str, fields: Mapping[str, Any], tools: Mapping[str, ToolAlias] | None
    ) -> FiredEvent:
        event = self.event_for(name)
        assert event is not None
        if event is HookEventName.BEFORE_TOOL:
            shown = self.show_to_host(fields["tool"], fields["with"], tools=tools)
            fields = {"tool_name": shown.name, "tool_input": shown.input}
        return read_fired_event(event, fields)

    def tool_names(self) -> tuple[str, ...]:
        return ("sh",)

    def host_tools(self, name: str) -> tuple[str, ...]:
        return ("run_shell_command",) if name == "sh" else ()

    def names_of_tool(
        self, name: str, tools: Mapping[str, ToolAlias] | None = None
    ) -> tuple[str, ...]:
        return (self.show_call(name, {}, tools=tools).name, name)

    def show_call(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        tools: Mapping[str, ToolAlias] | None = None,  # noqa: ARG002
        cwd: str | None = None,
    ) -> ShownCall:
        alias = ToolAlias("sh") if name == "run_shell_command" else None
        return show_as_alias(name, tool_input, alias, cwd=cwd)

    def show_to_host(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        tools: Mapping[str, ToolAlias] | None = None,  # noqa: ARG002
    ) -> ShownCall:
        own = self.host_tools(name)
        return ShownCall(own[0] if own else name, dict(tool_input), tool_input)

    def names_in_matcher(self, matcher: object) -> tuple[str, ...] | None:
        return (matcher,) if isinstance(matcher, str) else None


DIALECT = ToyDialect()
