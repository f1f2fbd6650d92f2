"""The cells of the table: each a scenario with hooks, a scripted model, and the expected result.

A check yields one sentence for each thing that is wrong.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from hookline.replies import (
    Reply as HookReply,
)
from hookline.replies import (
    add_context,
    ask,
    deny,
    rewrite,
    stop,
)
from tests.kit.adapters.run import DELEGATE, DISK_FULL, HELPER, Call, Observed, Reply

Event: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Observed], Iterable[str]]

_ADDRESS = "ann@example.org"
_SECRET = "swordfish"


class Hook(msgspec.Struct, frozen=True):
    """A function hook of a scenario."""

    event: str
    answer: Callable[[Event], HookReply | None]
    matcher: str | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the table, in its row. ``raises`` is the text of the tool's exception that the
    framework may raise. With ``delegates`` the agent has a tool that runs another agent."""

    row: str
    cell: str
    hooks: tuple[Hook, ...]
    replies: tuple[Reply, ...]
    check: Check
    prompts: tuple[str, ...] = ("Go on.",)
    approves: bool = False
    compresses: bool = False
    delegates: bool = False
    raises: str | None = None


def say(reply: HookReply | None) -> Callable[[Event], HookReply | None]:
    """A hook that always says the same."""
    return lambda _event: reply


def _expect(*wanted: tuple[bool, str]) -> Iterator[str]:
    """The sentences of the conditions that do not hold."""
    return (sentence for holds, sentence in wanted if not holds)


_LIST = Call("shell", {"command": "ls"})
_CALL = Reply("Let me look.", (_LIST,))
_DONE = Reply("All is done.")
_UPDATED: HookReply = {"hookSpecificOutput": {"updatedToolOutput": "[removed]"}}


def _check_goes_on(o: Observed) -> Iterator[str]:
    return _expect(
        (len(o.requests) == 2, f"the model was called {len(o.requests)} times, not twice"),
        (_DONE.text in o.answer, f"the final text is {o.answer!r}, not {_DONE.text!r}"),
    )


def _check_block(o: Observed) -> Iterator[str]:
    yield from _expect(
        (not o.ran, f"the blocked tool ran: {o.ran}"),
        ("not on Sundays" in o.sent(1, role="tool"), "the model does not read the reason"),
    )
    yield from _check_goes_on(o)


def _check_rewrite(o: Observed) -> Iterator[str]:
    wanted = {"to": "boss@example.org", "text": "hello"}
    yield from _expect(
        (o.inputs("mail") == [wanted], f"the tool ran with {o.inputs('mail')}, not {wanted}"),
        ("sent to boss" in o.sent(1, role="tool"), "the model does not read the tool's result"),
    )
    yield from _check_goes_on(o)


def _answer_by_command(event: Event) -> HookReply | None:
    command = event["tool_input"]["command"]
    return {"rm": deny("rm is not allowed"), "ls": rewrite(command="ls -l")}.get(command)


def _check_parallel(o: Observed) -> Iterator[str]:
    ran = sorted(given["command"] for given in o.inputs("shell"))
    results = o.sent(1, role="tool")
    yield from _expect(
        (ran == ["date", "ls -l"], f"the tools ran with {ran}, not 'date' and 'ls -l'"),
        ("output of date" in results, "the model does not read the result that no hook touched"),
        ("output of ls -l" in results, "the model does not read the result of the rewritten call"),
        ("rm is not allowed" in results, "the model does not read why the third was blocked"),
    )
    yield from _check_goes_on(o)


def _check_asked(o: Observed) -> Iterator[str]:
    return _expect(
        (len(o.questions) == 1, f"the user was asked {len(o.questions)} times, not once"),
        (any("really?" in q for q in o.questions), f"the question lacks the reason: {o.questions}"),
    )


def _check_approved(o: Observed) -> Iterator[str]:
    yield from _check_asked(o)
    yield from _expect(
        (o.inputs("shell") == [_LIST.args], f"the approved tool ran with {o.inputs('shell')}"),
        ("output of ls" in o.sent(1, role="tool"), "the model does not read the tool's result"),
    )
    yield from _check_goes_on(o)


def _check_refused(o: Observed) -> Iterator[str]:
    yield from _check_asked(o)
    yield from _expect(
        (not o.ran, f"the refused tool ran: {o.ran}"),
        ("really?" in o.sent(1, role="tool"), "the model does not read why it was refused"),
    )
    yield from _check_goes_on(o)


def _check_stopped(o: Observed, *, model_calls: int, tools: int) -> Iterator[str]:
    return _expect(
        (len(o.ran) == tools, f"{len(o.ran)} tools ran, not {tools}"),
        (
            len(o.requests) == model_calls,
            f"the model was called {len(o.requests)} times, not {model_calls}",
        ),
        ("enough for today" in o.seen, f"the user does not see why it ended: {o.answers}"),
    )


def _check_stopped_after_tool(o: Observed) -> Iterator[str]:
    yield from _check_stopped(o, model_calls=1, tools=1)
    yield from _expect(("output of ls" not in o.seen, "the user sees the tool's result"))


def _check_replaced(o: Observed) -> Iterator[str]:
    yield from _expect(
        (len(o.inputs("shell")) == 1, "the tool did not run once"),
        ("[removed]" in o.sent(1, role="tool"), "the model does not read the hook's text"),
        ("output of ls" not in o.sent(1), "the model reads the tool's own result"),
    )
    yield from _check_goes_on(o)


def _check_context_added(o: Observed) -> Iterator[str]:
    yield from _expect(
        ("output of ls" in o.sent(1, role="tool"), "the model does not read the tool's result"),
        ("this is a sandbox" in o.sent(1), "the model does not read the context"),
    )
    yield from _check_goes_on(o)


def _check_tail_call(o: Observed) -> Iterator[str]:
    names = [call.name for call in o.ran]
    yield from _expect(
        (names == ["shell", "mail"], f"{names} ran, not shell and then mail"),
        ("sent to log" in o.sent(1, role="tool"), "the model does not read the second result"),
        ("output of ls" not in o.sent(1), "the model reads the result that was replaced"),
    )
    yield from _check_goes_on(o)


def _check_raising_tool(o: Observed) -> Iterator[str]:
    fired = o.fired("AfterTool")
    errors = [event["tool_response"].get("error") or {} for event in fired]
    return _expect(
        (len(fired) == 1, f"AfterTool fired {len(fired)} times, not once"),
        (
            any(DISK_FULL in str(error.get("message")) for error in errors),
            f"AfterTool does not have the error: {errors}",
        ),
    )


def _refuse_secret(event: Event) -> HookReply | None:
    return deny("no passwords here") if _SECRET in event["prompt"] else None


def _check_turn_refused(o: Observed) -> Iterator[str]:
    return _expect(
        (not o.requests, "the model was called"),
        ("no passwords here" in o.seen, "the user does not see the reason"),
    )


def _check_prompt_forgotten(o: Observed) -> Iterator[str]:
    return _expect(
        (len(o.requests) == 1, f"the model was called {len(o.requests)} times, not once"),
        ("Good morning." in o.sent(0), "the model does not read the second prompt"),
        (_SECRET not in o.sent(0), "the model reads the refused prompt in the next turn"),
        (_DONE.text in o.answer, "the second turn has no answer"),
    )


def _check_turn_context(o: Observed) -> Iterator[str]:
    return _expect(
        ("today is Monday" in o.sent(0), "the model does not read the context"),
        ("Go on." in o.sent(0), "the model does not read the prompt"),
        (_DONE.text in o.answer, "the turn has no answer"),
    )


def _send_back_once(event: Event) -> HookReply | None:
    return None if event["stop_hook_active"] else deny("say it in French")


def _check_sent_back(o: Observed) -> Iterator[str]:
    active = [event["stop_hook_active"] for event in o.fired("AfterAgent")]
    return _expect(
        (len(o.requests) == 2, f"the model was called {len(o.requests)} times, not twice"),
        ("say it in French" in o.sent(1), "the model does not read the hook's reason"),
        ("Bonjour." in o.answer, f"the final text is {o.answer!r}, not the second"),
        (active == [False, True], f"stop_hook_active was {active}"),
    )


def _check_model_denied(o: Observed) -> Iterator[str]:
    return _expect(
        (not o.requests, "the model was called"),
        ("the budget is spent" in o.seen, "the user does not see the reason"),
    )


def _hide_secret(event: Event) -> HookReply:
    messages = [
        {**message, "content": message["content"].replace(_SECRET, "[hidden]")}
        for message in event["llm_request"]["messages"]
    ]
    return {"hookSpecificOutput": {"llm_request": {"messages": messages}}}


def _check_request_rewritten(o: Observed) -> Iterator[str]:
    yield from _expect(
        (len(o.requests) == 2, f"the model was called {len(o.requests)} times, not twice"),
        ("[hidden]" in o.sent(0), "the model does not read the hook's text"),
        (all(_SECRET not in o.sent(n) for n in (0, 1)), "the model reads what the hook removed"),
        (len(o.ran) == 1, "the tool call did not run once"),
        ("output of ls" in o.sent(1, role="tool"), "the tool's result got lost in the rewriting"),
        (_DONE.text in o.answer, "the turn has no answer"),
        (
            not o.streams or _DONE.text not in o.shown,
            "the stream was held back, though no AfterModel hook looks at it",
        ),
    )


def _check_synthetic(o: Observed) -> Iterator[str]:
    return _expect(
        (not o.requests, "the model was called"),
        ("From the cache." in o.answer, f"the final text is {o.answer!r}, not the hook's"),
    )


def _redact(event: Event) -> HookReply | None:
    text = event["llm_response"].get("text", "")
    if _ADDRESS not in text:
        return None
    return {"hookSpecificOutput": {"llm_response": {"text": text.replace(_ADDRESS, "[address]")}}}


def _check_redacted(o: Observed) -> Iterator[str]:
    sent = "\n".join(o.sent(number) for number in range(len(o.requests)))
    yield from _expect(
        (_ADDRESS not in o.seen, "the user sees the address"),
        (_ADDRESS not in sent, "the model is sent the address in a later call"),
        ("[address]" in o.seen, "the user does not see the redacted text"),
        ("[address]" in o.sent(2), "the model does not read its own redacted text"),
        (len(o.ran) == 1, f"{len(o.ran)} tool calls ran, not the one of the redacted reply"),
        (len(o.requests) == 3, f"the model was called {len(o.requests)} times, not 3"),
        (_DONE.text in o.answer, "the second turn has no answer"),
    )


def _deny_secret(event: Event) -> HookReply | None:
    return deny("no passwords here") if _SECRET in event["llm_response"].get("text", "") else None


def _check_response_denied(o: Observed) -> Iterator[str]:
    return _expect(
        (_SECRET not in o.seen, "the user sees the denied response"),
        (_SECRET not in o.sent(1), "the model is sent the denied response in the next turn"),
        ("no passwords here" in o.seen, "the user does not see the reason"),
        (not o.ran, f"a tool call of the denied response ran: {o.ran}"),
        (len(o.requests) == 2, f"the model was called {len(o.requests)} times, not once a turn"),
    )


def _choose(mode: str, *names: str) -> HookReply:
    chosen = {"mode": mode, "allowedFunctionNames": [*names]}
    return {"hookSpecificOutput": {"toolConfig": chosen}}


def _check_selection(o: Observed) -> Iterator[str]:
    yield from _expect(
        (not o.inputs("mail"), "a tool ran that the hook does not allow"),
        (len(o.inputs("shell")) == 1, "the allowed tool did not run once"),
    )
    yield from _check_goes_on(o)


def _check_no_tools(o: Observed) -> Iterator[str]:
    available = [event.get("available_tools") for event in o.fired("BeforeToolSelection")]
    return _expect(
        (not o.ran, f"tools ran though the hook allows none: {o.ran}"),
        (bool(o.requests), "the model was not called"),
        (
            any(sorted(names or ()) == ["mail", "shell"] for names in available),
            f"the hook was given the tools {available}",
        ),
    )


def _check_session_start(o: Observed) -> Iterator[str]:
    fired = o.fired("SessionStart")
    return _expect(
        (len(fired) == 1, f"SessionStart fired {len(fired)} times, not once"),
        ("you are in Berlin" in o.sent(0), "the model does not read what SessionStart adds"),
        (len(o.requests) == 2, f"the model was called {len(o.requests)} times, not once a turn"),
    )


def _check_session_end(o: Observed) -> Iterator[str]:
    names = [event["hook_event_name"] for event in o.events]
    wanted = ["AfterAgent", "AfterAgent", "SessionEnd"]
    return _expect((names == wanted, f"the events were {names}, not {wanted}"))


def _check_compressed(o: Observed) -> Iterator[str]:
    fired = o.fired("PreCompress")
    return _expect((len(fired) == 1, f"PreCompress fired {len(fired)} times, not once"))


def _check_notified(o: Observed) -> Iterator[str]:
    kinds = [event.get("notification_type") for event in o.fired("Notification")]
    return _expect(
        (kinds == ["ToolPermission"], f"the notifications were {kinds}, not one ToolPermission"),
        (len(o.questions) == 1, f"the user was asked {len(o.questions)} times, not once"),
    )


# The calls of a turn so far, by its id; no two turns have the same.
_COUNTS: Counter[str] = Counter()


def _cap_calls(event: Event) -> HookReply | None:
    """Allow five calls a turn, as a user writes it."""
    _COUNTS[event["turn_id"]] += 1
    return deny("five calls are enough") if _COUNTS[event["turn_id"]] > 5 else None


def _call(name: str, *inputs: str) -> Reply:
    field = "task" if name == DELEGATE else "command"
    return Reply(calls=tuple(Call(name, {field: given}) for given in inputs))


def _check_capped(o: Observed) -> Iterator[str]:
    ran = sorted(given["command"] for given in o.inputs("shell"))
    wanted = ["five", "four", "nine", "one", "three", "two"]
    fired = o.fired("BeforeTool")
    turns = [event.get("turn_id") for event in fired]
    agents = [event.get("agent") for event in fired]
    helpers = [agent for agent in agents if agent is not None]
    yield from _expect(
        (ran == wanted, f"the tools ran with {ran}, not {wanted}"),
        (len(fired) == 9, f"BeforeTool fired {len(fired)} times, not 9"),
        (
            len({*turns}) == 2 and turns.count(turns[0]) == 8,
            f"the turn ids were {turns}: not one for the first turn and another for the second",
        ),
        (
            [agent is None for agent in agents] == [True] * 2 + [False] * 4 + [True] * 3,
            f"the events have the agents {agents}, not that of the sub-agent's calls alone",
        ),
        (
            {(each["name"], each["depth"]) for each in helpers} <= {(HELPER, 1)},
            f"the sub-agent is {helpers}",
        ),
        (len({each.get("id") for each in helpers}) <= 1, "the sub-agent has several ids"),
        (_DONE.text in o.answer, f"the final text is {o.answer!r}, not {_DONE.text!r}"),
    )


def _check_no_turn(o: Observed) -> Iterator[str]:
    names = [event["hook_event_name"] for event in o.events]
    wanted = ["BeforeAgent", "AfterAgent"]
    return _expect(
        (names == wanted, f"the events were {names}, not {wanted}"),
        (len(o.inputs("shell")) == 1, "the sub-agent's tool did not run once"),
        (_DONE.text in o.answer, f"the final text is {o.answer!r}, not {_DONE.text!r}"),
    )


def _check_stopped_inside(o: Observed) -> Iterator[str]:
    return _expect(
        (not o.ran, f"the stopped tool ran: {o.ran}"),
        (len(o.requests) == 2, f"the model was called {len(o.requests)} times, not twice"),
        ("enough for today" in o.seen, f"the user does not see why it ended: {o.answers}"),
    )


_TOOL = "BeforeTool block, rewrite"
_AFTER_TOOL = "AfterTool replace, context, tail call"
_TURN = "BeforeAgent block / context"
_MODEL = "BeforeModel, AfterModel, also streamed"
_SELECTION = "BeforeToolSelection, enforced"
_SESSION = "SessionStart, SessionEnd"
_SUBAGENTS = "turn_id, agent: sub-agents"
_ASKS = Hook("BeforeTool", say(ask("really?")), "shell")

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        row=_TOOL,
        cell="BeforeTool block",
        hooks=(Hook("BeforeTool", say(deny("not on Sundays")), "shell"),),
        replies=(_CALL, _DONE),
        check=_check_block,
    ),
    Scenario(
        row=_TOOL,
        cell="BeforeTool rewrite",
        hooks=(Hook("BeforeTool", say(rewrite(to="boss@example.org")), "mail"),),
        replies=(Reply(calls=(Call("mail", {"to": _ADDRESS, "text": "hello"}),)), _DONE),
        check=_check_rewrite,
    ),
    Scenario(
        row=_TOOL,
        cell="BeforeTool context",
        hooks=(Hook("BeforeTool", say(add_context("this is a sandbox")), "shell"),),
        replies=(_CALL, _DONE),
        check=_check_context_added,
    ),
    Scenario(
        row=_TOOL,
        cell="BeforeTool, tools in parallel",
        hooks=(Hook("BeforeTool", _answer_by_command, "shell"),),
        replies=(
            Reply(calls=tuple(Call("shell", {"command": c}) for c in ("date", "ls", "rm"))),
            _DONE,
        ),
        check=_check_parallel,
    ),
    Scenario(
        row="ask",
        cell="ask: approved",
        hooks=(_ASKS,),
        replies=(_CALL, _DONE),
        approves=True,
        check=_check_approved,
    ),
    Scenario(
        row="ask",
        cell="ask: refused",
        hooks=(_ASKS,),
        replies=(_CALL, _DONE),
        check=_check_refused,
    ),
    Scenario(
        row="stop",
        cell="stop before a tool",
        hooks=(Hook("BeforeTool", say(stop("enough for today")), "shell"),),
        replies=(_CALL, _DONE),
        check=lambda o: _check_stopped(o, model_calls=1, tools=0),
    ),
    Scenario(
        row="stop",
        cell="stop after a tool",
        hooks=(Hook("AfterTool", say(stop("enough for today")), "shell"),),
        replies=(_CALL, _DONE),
        check=_check_stopped_after_tool,
    ),
    Scenario(
        row="stop",
        cell="stop before a model call",
        hooks=(Hook("BeforeModel", say(stop("enough for today"))),),
        replies=(_CALL, _DONE),
        check=lambda o: _check_stopped(o, model_calls=0, tools=0),
    ),
    Scenario(
        row="stop",
        cell="stop after a model call",
        hooks=(Hook("AfterModel", say(stop("enough for today"))),),
        replies=(_CALL, _DONE),
        check=lambda o: _check_stopped(o, model_calls=1, tools=0),
    ),
    Scenario(
        row=_AFTER_TOOL,
        cell="AfterTool replace",
        hooks=(Hook("AfterTool", say(deny("[removed]")), "shell"),),
        replies=(_CALL, _DONE),
        check=_check_replaced,
    ),
    Scenario(
        row=_AFTER_TOOL,
        cell="AfterTool update",
        hooks=(Hook("AfterTool", say(_UPDATED), "shell"),),
        replies=(_CALL, _DONE),
        check=_check_replaced,
    ),
    Scenario(
        row=_AFTER_TOOL,
        cell="AfterTool context",
        hooks=(Hook("AfterTool", say(add_context("this is a sandbox")), "shell"),),
        replies=(_CALL, _DONE),
        check=_check_context_added,
    ),
    Scenario(
        row=_AFTER_TOOL,
        cell="AfterTool tail call",
        hooks=(
            Hook(
                "AfterTool",
                say(
                    {
                        "hookSpecificOutput": {
                            "tailToolCallRequest": {
                                "name": "mail",
                                "args": {"to": "log", "text": "ls ran"},
                            }
                        }
                    }
                ),
                "shell",
            ),
        ),
        replies=(_CALL, _DONE),
        check=_check_tail_call,
    ),
    Scenario(
        row=_AFTER_TOOL,
        cell="AfterTool of a tool that raises",
        hooks=(Hook("AfterTool", say(None), "shell"),),
        replies=(Reply(calls=(Call("shell", {"command": "fill"}),)), _DONE),
        raises=DISK_FULL,
        check=_check_raising_tool,
    ),
    Scenario(
        row=_TURN,
        cell="BeforeAgent block",
        hooks=(Hook("BeforeAgent", _refuse_secret),),
        prompts=(f"My password is {_SECRET}.",),
        replies=(_DONE,),
        check=_check_turn_refused,
    ),
    Scenario(
        row=_TURN,
        cell="BeforeAgent block forgets the prompt",
        hooks=(Hook("BeforeAgent", _refuse_secret),),
        prompts=(f"My password is {_SECRET}.", "Good morning."),
        replies=(_DONE,),
        check=_check_prompt_forgotten,
    ),
    Scenario(
        row=_TURN,
        cell="BeforeAgent context",
        hooks=(Hook("BeforeAgent", say(add_context("today is Monday"))),),
        replies=(_DONE,),
        check=_check_turn_context,
    ),
    Scenario(
        row="AfterAgent send back",
        cell="AfterAgent send back",
        hooks=(Hook("AfterAgent", _send_back_once),),
        replies=(Reply("Hello."), Reply("Bonjour.")),
        check=_check_sent_back,
    ),
    Scenario(
        row=_MODEL,
        cell="BeforeModel deny",
        hooks=(Hook("BeforeModel", say(deny("the budget is spent"))),),
        replies=(_DONE,),
        check=_check_model_denied,
    ),
    Scenario(
        row=_MODEL,
        cell="BeforeModel rewrite",
        hooks=(Hook("BeforeModel", _hide_secret),),
        prompts=(f"My password is {_SECRET}.",),
        replies=(_CALL, _DONE),
        check=_check_request_rewritten,
    ),
    Scenario(
        row=_MODEL,
        cell="BeforeModel synthetic answer",
        hooks=(
            Hook(
                "BeforeModel",
                say({"hookSpecificOutput": {"llm_response": {"text": "From the cache."}}}),
            ),
        ),
        replies=(_DONE,),
        check=_check_synthetic,
    ),
    Scenario(
        row=_MODEL,
        cell="AfterModel redact",
        hooks=(Hook("AfterModel", _redact),),
        prompts=("Whom should I ask?", "Thank you."),
        replies=(
            Reply(f"I shall look {_ADDRESS} up.", (_LIST,)),
            Reply(f"Write to {_ADDRESS} today."),
            _DONE,
        ),
        check=_check_redacted,
    ),
    Scenario(
        row=_MODEL,
        cell="AfterModel deny",
        hooks=(Hook("AfterModel", _deny_secret),),
        prompts=("What is the password?", "Thank you."),
        replies=(Reply(f"It is {_SECRET}.", (_LIST,)), _DONE),
        check=_check_response_denied,
    ),
    Scenario(
        row=_SELECTION,
        cell="BeforeToolSelection enforced",
        hooks=(Hook("BeforeToolSelection", say(_choose("AUTO", "shell"))),),
        replies=(Reply(calls=(Call("mail", {"to": "you", "text": "hi"}), _LIST)), _DONE),
        check=_check_selection,
    ),
    Scenario(
        row=_SELECTION,
        cell="BeforeToolSelection none",
        hooks=(Hook("BeforeToolSelection", say(_choose("NONE"))),),
        replies=(_CALL, _DONE),
        check=_check_no_tools,
    ),
    Scenario(
        row=_SESSION,
        cell="SessionStart",
        hooks=(Hook("SessionStart", say(add_context("you are in Berlin"))),),
        prompts=("Go on.", "And then?"),
        replies=(_DONE, _DONE),
        check=_check_session_start,
    ),
    Scenario(
        row=_SESSION,
        cell="SessionEnd",
        hooks=(Hook("AfterAgent", say(None)), Hook("SessionEnd", say(None))),
        prompts=("Go on.", "And then?"),
        replies=(_DONE, _DONE),
        check=_check_session_end,
    ),
    Scenario(
        row="PreCompress, Notification",
        cell="PreCompress",
        hooks=(Hook("PreCompress", say(None)),),
        prompts=("Tell me a long story.", "And then?", "And how does it end?"),
        replies=(Reply("Once upon a time. " * 20), Reply("They walked on. " * 20), _DONE),
        compresses=True,
        check=_check_compressed,
    ),
    Scenario(
        row="PreCompress, Notification",
        cell="Notification",
        hooks=(_ASKS, Hook("Notification", say(None))),
        replies=(_CALL, _DONE),
        approves=True,
        check=_check_notified,
    ),
    Scenario(
        row=_SUBAGENTS,
        cell="five calls a turn, sub-agents included",
        hooks=(Hook("BeforeTool", _cap_calls, "shell"),),
        prompts=("Go on.", "And then?"),
        replies=(
            _call("shell", "one", "two"),
            _call(DELEGATE, "Look closer."),
            _call("shell", "three", "four", "five"),
            _call("shell", "six"),
            Reply("I am done."),
            _call("shell", "seven"),
            _call("shell", "eight"),
            _DONE,
            _call("shell", "nine"),
            _DONE,
        ),
        delegates=True,
        check=_check_capped,
    ),
    Scenario(
        row=_SUBAGENTS,
        cell="a sub-agent has no turn of its own",
        hooks=(Hook("BeforeAgent", say(None)), Hook("AfterAgent", say(None))),
        replies=(_call(DELEGATE, "Look closer."), _CALL, Reply("I am done."), _DONE),
        delegates=True,
        check=_check_no_turn,
    ),
    Scenario(
        row=_SUBAGENTS,
        cell="a stop in a sub-agent ends the turn",
        hooks=(Hook("BeforeTool", say(stop("enough for today")), "shell"),),
        replies=(_call(DELEGATE, "Look closer."), _CALL, Reply("I am done."), _DONE),
        delegates=True,
        check=_check_stopped_inside,
    ),
)
