"""Each cell of the table finds the adapter that does not reach it, by what happened in its run."""

from typing import Any

from hookline import Hooks
from tests.kit.adapters import SCENARIOS, Call, Message, Observed, Reply, Run
from tests.kit.adapters.run import DISK_FULL

DONE = "All is done."
LIST = Call("shell", {"command": "ls"})
MAIL = Call("mail", {"to": "boss@example.org", "text": "hello"})
RESULTS = ("output of date", "output of ls -l", "rm is not allowed")
CELLS = {scenario.cell: scenario for scenario in SCENARIOS}
Fields = dict[str, Any]


def called(*results: str, prompt: str = "Go on.") -> Fields:
    """The model is called with the prompt, and again with each result."""
    return {"requests": [[Message("user", prompt)], *([Message("tool", r)] for r in results)]}


def talked(*prompts: str) -> Fields:
    return {"requests": [[Message("user", prompt)] for prompt in prompts]}


def said(*answers: str) -> Fields:
    return {"answers": [*answers]}


def ran(*calls: Call) -> Fields:
    return {"ran": [*calls]}


def shell(*commands: str) -> Fields:
    return ran(*(Call("shell", {"command": command}) for command in commands))


def asked(*questions: str) -> Fields:
    return {"questions": [*questions]}


def fired(*events: tuple[str, Fields]) -> Fields:
    return {"events": [{"hook_event_name": name, **fields} for name, fields in events]}


def failed(**response: Any) -> tuple[str, Fields]:
    return "AfterTool", {"tool_response": response}


def ended(*active: bool) -> Fields:
    return fired(*(("AfterAgent", {"stop_hook_active": each}) for each in active))


FULL = failed(error={"message": DISK_FULL})
OFFERED = ("BeforeToolSelection", {"available_tools": ["shell", "mail"]})
START: tuple[str, Fields] = ("SessionStart", {})
ONE_TURN: tuple[str, Fields] = ("AfterAgent", {})
END: tuple[str, Fields] = ("SessionEnd", {})
COMPRESSED: tuple[str, Fields] = ("PreCompress", {})
NOTIFIED = ("Notification", {"notification_type": "ToolPermission"})
OWN: tuple[str, Fields] = ("BeforeTool", {"turn_id": "1"})
HELPERS = ("BeforeTool", {"turn_id": "1", "agent": {"name": "helper", "id": "a", "depth": 1}})
OTHERS = ("BeforeTool", {"turn_id": "1", "agent": {"name": "helper", "id": "b", "depth": 1}})
TURN_OF_ITS_OWN = ("BeforeTool", {**HELPERS[1], "turn_id": "3"})
NEXT_TURN = ("BeforeTool", {"turn_id": "2"})
ADDED = "output of ls, this is a sandbox"
REPLACED = {**ran(LIST), **called("[removed]"), **said(DONE)}

CAP = "five calls a turn, sub-agents included"

# A cell -> what happens where an adapter reaches it.
REACHED: dict[str, Fields] = {
    "BeforeTool block": {**called("not on Sundays"), **said(DONE)},
    "BeforeTool rewrite": {**ran(MAIL), **called("sent to boss"), **said(DONE)},
    "BeforeTool context": {**called(ADDED), **said(DONE)},
    "BeforeTool, tools in parallel": {
        **shell("ls -l", "date"),
        **called("\n".join(RESULTS)),
        **said(DONE),
    },
    "ask: approved": {**asked("really?"), **ran(LIST), **called("output of ls"), **said(DONE)},
    "ask: refused": {**asked("really?"), **called("really?"), **said(DONE)},
    "stop before a tool": {**called(), **said("enough for today")},
    "stop after a tool": {**ran(LIST), **called(), **said("enough for today")},
    "stop before a model call": said("enough for today"),
    "stop after a model call": {**called(), **said("enough for today")},
    "AfterTool replace": REPLACED,
    "AfterTool update": REPLACED,
    "AfterTool context": {**called(ADDED), **said(DONE)},
    "AfterTool tail call": {**ran(LIST, MAIL), **called("sent to log"), **said(DONE)},
    "AfterTool of a tool that raises": fired(FULL),
    "BeforeAgent block": said("no passwords here"),
    "BeforeAgent block forgets the prompt": {**talked("Good morning."), **said(DONE)},
    "BeforeAgent context": {**talked("Go on. today is Monday"), **said(DONE)},
    "AfterAgent send back": {
        **called("say it in French"),
        **said("Hello.", "Bonjour."),
        **ended(False, True),
    },
    "BeforeModel deny": said("the budget is spent"),
    "BeforeModel rewrite": {
        **ran(LIST),
        **called("output of ls", prompt="[hidden]"),
        **said(DONE),
        "shown": ["All is ", "done."],
    },
    "BeforeModel synthetic answer": said("From the cache."),
    "AfterModel redact": {
        **ran(LIST),
        **talked("Whom?", "I shall look [address] up.", "Write to [address] today."),
        **said("Write to [address] today.", DONE),
    },
    "AfterModel deny": {**talked("What?", "Thank you."), **said("no passwords here", DONE)},
    "BeforeToolSelection enforced": {**ran(LIST), **called("output of ls"), **said(DONE)},
    "BeforeToolSelection none": {**called(), **fired(OFFERED)},
    "SessionStart": {**talked("you are in Berlin", "And then?"), **fired(START)},
    "SessionEnd": fired(ONE_TURN, ONE_TURN, END),
    "PreCompress": fired(COMPRESSED),
    "Notification": {**fired(NOTIFIED), **asked("really?")},
    CAP: {
        **shell("one", "two", "three", "four", "five", "nine"),
        **fired(*[OWN] * 2, *[HELPERS] * 4, *[OWN] * 2, NEXT_TURN),
        **said(DONE),
    },
    "a sub-agent has no turn of its own": {
        **fired(("BeforeAgent", {}), ("AfterAgent", {})),
        **shell("ls"),
        **said(DONE),
    },
    "a stop in a sub-agent ends the turn": {**called("x"), **said("enough for today")},
}
GOES_ON = (
    *("BeforeTool block", "BeforeTool rewrite", "BeforeTool context", "AfterTool context"),
    *("BeforeTool, tools in parallel", "ask: approved", "ask: refused", "AfterTool replace"),
    *("AfterTool tail call", "BeforeToolSelection enforced"),
)
UNREAD, UNHEARD = "the model does not read", "the user does not see"

# A cell, what happens in another way, and what is said of that.
MISSED: list[tuple[str, Fields, str]] = [
    *((cell, said("x"), "the final text is 'x'") for cell in GOES_ON),
    ("BeforeTool block", ran(LIST), "the blocked tool ran"),
    ("BeforeTool block", called("x"), f"{UNREAD} the reason"),
    ("BeforeTool rewrite", ran(MAIL, MAIL), "the tool ran with"),
    ("BeforeTool rewrite", called("x"), f"{UNREAD} the tool's result"),
    ("BeforeTool context", called("output of ls"), f"{UNREAD} the context"),
    ("BeforeTool context", called("this is a sandbox"), f"{UNREAD} the tool's result"),
    ("BeforeTool, tools in parallel", shell("date", "ls"), "the tools ran with ['date', 'ls']"),
    ("BeforeTool, tools in parallel", called("\n".join(RESULTS[1:])), f"{UNREAD} the result that"),
    ("BeforeTool, tools in parallel", called("\n".join(RESULTS[::2])), f"{UNREAD} the result of"),
    ("BeforeTool, tools in parallel", called("\n".join(RESULTS[:2])), f"{UNREAD} why the third"),
    ("ask: approved", asked("really?", "really?"), "the user was asked 2 times"),
    ("ask: approved", asked("now?"), "the question lacks the reason"),
    ("ask: approved", ran(LIST, LIST), "the approved tool ran with"),
    ("ask: approved", called("x"), f"{UNREAD} the tool's result"),
    ("ask: refused", asked("now?"), "the question lacks the reason"),
    ("ask: refused", ran(LIST), "the refused tool ran"),
    ("ask: refused", called("x"), f"{UNREAD} why it was refused"),
    ("stop before a tool", ran(LIST), "1 tools ran, not 0"),
    ("stop before a tool", called("x"), "the model was called 2 times, not 1"),
    ("stop before a tool", said(DONE), f"{UNHEARD} why it ended"),
    ("stop after a tool", ran(), "0 tools ran, not 1"),
    ("stop after a tool", {"shown": ["output of ls"]}, "the user sees the tool's result"),
    ("stop before a model call", called(), "the model was called 1 times, not 0"),
    ("stop before a model call", ran(LIST), "1 tools ran, not 0"),
    ("stop after a model call", called("x"), "the model was called 2 times, not 1"),
    ("stop after a model call", ran(LIST), "1 tools ran, not 0"),
    ("AfterTool replace", ran(LIST, LIST), "the tool did not run once"),
    ("AfterTool replace", called("x"), f"{UNREAD} the hook's text"),
    ("AfterTool update", called("[removed] output of ls"), "the model reads the tool's own"),
    ("AfterTool tail call", ran(MAIL, LIST), "['mail', 'shell'] ran"),
    ("AfterTool tail call", called("x"), f"{UNREAD} the second result"),
    ("AfterTool tail call", called("sent to log, output of ls"), "the model reads the result that"),
    ("AfterTool of a tool that raises", fired(FULL, FULL), "AfterTool fired 2 times"),
    ("AfterTool of a tool that raises", fired(failed(error=None)), "AfterTool does not have the"),
    ("BeforeAgent block", called(), "the model was called"),
    ("BeforeAgent block", said("x"), f"{UNHEARD} the reason"),
    ("BeforeAgent block forgets the prompt", said("x"), "the second turn has no answer"),
    ("BeforeAgent block forgets the prompt", talked("x"), f"{UNREAD} the second prompt"),
    (
        "BeforeAgent block forgets the prompt",
        talked("swordfish. Good morning."),
        "the model reads the refused prompt",
    ),
    (
        "BeforeAgent block forgets the prompt",
        talked("Good morning.", "x"),
        "the model was called 2 times, not once",
    ),
    ("BeforeAgent context", talked("Go on."), f"{UNREAD} the context"),
    ("BeforeAgent context", talked("today is Monday"), f"{UNREAD} the prompt"),
    ("BeforeAgent context", said("x"), "the turn has no answer"),
    ("AfterAgent send back", called("say it in French", "x"), "the model was called 3 times"),
    ("AfterAgent send back", called("x"), f"{UNREAD} the hook's reason"),
    ("AfterAgent send back", said("Bonjour.", "Hello."), "the final text is 'Hello.'"),
    ("AfterAgent send back", ended(False, False), "stop_hook_active was [False, False]"),
    ("BeforeModel deny", called(), "the model was called"),
    ("BeforeModel deny", said("x"), f"{UNHEARD} the reason"),
    ("BeforeModel rewrite", called("output of ls"), f"{UNREAD} the hook's text"),
    (
        "BeforeModel rewrite",
        called("output of ls of swordfish", prompt="[hidden]"),
        "the model reads what the hook removed",
    ),
    (
        "BeforeModel rewrite",
        called("output of ls", prompt="[hidden] swordfish"),
        "the model reads what the hook removed",
    ),
    ("BeforeModel rewrite", ran(LIST, LIST), "the tool call did not run once"),
    ("BeforeModel rewrite", called("x", prompt="[hidden]"), "the tool's result got lost"),
    ("BeforeModel rewrite", said("x"), "the turn has no answer"),
    ("BeforeModel rewrite", {"mode": "stream", "shown": [DONE]}, "the stream was held back"),
    (
        "BeforeModel rewrite",
        called("output of ls", "x", prompt="[hidden]"),
        "the model was called 3 times, not twice",
    ),
    ("BeforeModel synthetic answer", called(), "the model was called"),
    ("BeforeModel synthetic answer", said("x"), "the final text is 'x'"),
    ("AfterModel redact", {"shown": ["ann@exam", "ple.org"]}, "the user sees the address"),
    (
        "AfterModel redact",
        talked("Whom?", "I shall look ann@example.org up.", "[address]"),
        "the model is sent the address",
    ),
    ("AfterModel redact", said("x", DONE), f"{UNHEARD} the redacted text"),
    ("AfterModel redact", talked("a", "[address]", "c"), f"{UNREAD} its own redacted text"),
    ("AfterModel redact", ran(LIST, LIST), "2 tool calls ran"),
    ("AfterModel redact", talked("a", "b", "[address]", "d"), "the model was called 4 times"),
    ("AfterModel redact", said("[address]"), "the second turn has no answer"),
    ("AfterModel deny", {"shown": ["It is swordfish."]}, "the user sees the denied response"),
    ("AfterModel deny", talked("What?", "It is swordfish."), "the model is sent the denied"),
    ("AfterModel deny", said(DONE), f"{UNHEARD} the reason"),
    ("AfterModel deny", ran(LIST), "a tool call of the denied response ran"),
    ("AfterModel deny", talked("What?"), "the model was called 1 times, not once a turn"),
    ("BeforeToolSelection enforced", ran(LIST, MAIL), "a tool ran that the hook does not allow"),
    ("BeforeToolSelection enforced", ran(), "the allowed tool did not run once"),
    ("BeforeToolSelection none", ran(LIST), "tools ran though the hook allows none"),
    ("BeforeToolSelection none", talked(), "the model was not called"),
    ("BeforeToolSelection none", fired(), "the hook was given the tools []"),
    ("BeforeToolSelection none", fired((OFFERED[0], {})), "the hook was given the tools [None]"),
    ("SessionStart", fired(START, START), "SessionStart fired 2 times"),
    ("SessionStart", talked("x", "you are in Berlin"), f"{UNREAD} what SessionStart adds"),
    ("SessionStart", talked("you are in Berlin"), "the model was called 1 times"),
    ("SessionEnd", fired(ONE_TURN, END, ONE_TURN), "the events were"),
    ("PreCompress", fired(COMPRESSED, COMPRESSED), "PreCompress fired 2 times"),
    ("Notification", fired(NOTIFIED, NOTIFIED), "the notifications were"),
    ("Notification", asked(), "the user was asked 0 times"),
    (CAP, shell("one", "two", "three", "four", "five", "six"), "the tools ran with"),
    (CAP, fired(*[OWN] * 2, *[HELPERS] * 4, *[OWN] * 3), "the turn ids were"),
    (
        CAP,
        fired(*[OWN] * 2, TURN_OF_ITS_OWN, *[HELPERS] * 3, *[OWN] * 2, NEXT_TURN),
        "the turn ids were",
    ),
    (CAP, fired(*[OWN] * 8, NEXT_TURN), "the events have the agents"),
    (CAP, fired(*[OWN] * 2, *[HELPERS] * 3, OTHERS, *[OWN] * 2, NEXT_TURN), "the sub-agent has"),
    (CAP, said("x"), "the final text is 'x'"),
    ("a sub-agent has no turn of its own", fired(ONE_TURN), "the events were"),
    ("a sub-agent has no turn of its own", ran(), "the sub-agent's tool did not run"),
    ("a sub-agent has no turn of its own", said("x"), "the final text is 'x'"),
    ("a stop in a sub-agent ends the turn", ran(LIST), "the stopped tool ran"),
    ("a stop in a sub-agent ends the turn", called("x", "y"), "the model was called 3 times"),
    ("a stop in a sub-agent ends the turn", said(DONE), f"{UNHEARD} why it ended"),
]


def complaints(cell: str, **fields: Any) -> list[str]:
    observed = {"mode": "sync", "session_id": "s", **REACHED[cell], **fields}
    return [*CELLS[cell].check(Observed(**observed))]


def test_where_every_cell_is_reached_nothing_is_said() -> None:
    assert {cell: complaints(cell) for cell in CELLS} == {cell: [] for cell in CELLS}


def test_each_thing_that_is_wrong_is_said_alone() -> None:
    for cell, fields, sentence in MISSED:
        found = [complaint[: len(sentence)] for complaint in complaints(cell, **fields)]
        assert found == [sentence], cell


def test_a_model_that_is_called_once_more_does_not_go_on_as_it_should() -> None:
    for cell in GOES_ON:
        requests = [*REACHED[cell]["requests"], []]
        assert complaints(cell, requests=requests) == ["the model was called 3 times, not twice"]


def test_a_stream_that_is_shown_in_pieces_was_not_held_back() -> None:
    assert complaints("BeforeModel rewrite", mode="stream") == []
    assert complaints("BeforeModel rewrite", shown=[DONE]) == []


def test_a_stream_yields_a_text_in_pieces_shorter_than_what_hooks_look_for() -> None:
    assert Reply(DONE).pieces == ["All is", " done."]
    assert Reply("").pieces == []


def test_what_was_sent_is_counted_from_the_first_call_or_from_the_last() -> None:
    observed = Observed(mode="sync", session_id="s", **called("result"))
    sent = [observed.sent(number) for number in (-3, -2, -1, 0, 1, 2)]
    assert sent == ["", "Go on.", "result", "Go on.", "result", ""]
    assert [observed.sent(1, role=role) for role in ("tool", "user")] == ["result", ""]


def test_a_run_notes_what_the_model_is_offered_and_who_is_asked() -> None:
    observed = Observed(mode="sync", session_id="s")
    with Hooks() as hooks:
        run = Run(hooks, observed, prompts=(), replies=[Reply(calls=(LIST, MAIL)), Reply("x")])
        replies = [run.next_reply([Message("user", "Hi")], ["shell"]) for _ in range(3)]
        assert (run.approve("really?"), run.compresses) == (False, False)
    assert [call.id for call in replies[0].calls] == ["call-0", "call-1"]
    assert [reply.text for reply in replies] == ["", "x", "Nothing."]
    assert observed.offered == [["shell"]] * 3
    assert (observed.answer, observed.questions) == ("", ["really?"])


def test_each_tool_of_a_run_says_what_it_takes() -> None:
    with Hooks() as hooks:
        run = Run(hooks, Observed(mode="sync", session_id="s"), prompts=(), replies=())
    text = {"type": "string"}
    assert {tool.name: tool.schema for tool in run.tools} == {
        "shell": {"type": "object", "properties": {"command": text}, "required": ["command"]},
        "mail": {
            "type": "object",
            "properties": {"to": text, "text": text},
            "required": ["to", "text"],
        },
    }
