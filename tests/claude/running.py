"""Runs one case: Claude Code's settings in a project, a shell script as the hook, a whole session
of the agent, and everything that came of it.

A case is a JSON object; what it does not say is as usual.

- ``event``, ``matcher``: where its hooks are. ``handler``: further keys of each hook, or others in
  place of the usual ones.
- ``says``: what a hook does when it has read its input, one object a hook: ``exit``, ``stdout``
  (an object is printed as JSON), ``stderr``, ``runs`` (a line of shell, before that), ``unless``
  (it says nothing to an input with this text in it), ``handler``.
- ``settings``: more of ``.claude/settings.json``. ``files``: other files of the project, or of the
  home where the name begins with ``~/``. ``plugins``: folders of plugins among them.
  ``environment``: variables of the agent's process. ``claude``, ``trusted``: options of
  ``Config.load``, true if the case does not say so.
- ``calls``: the tools that the model calls at first, ``{name, args}``. ``replies``: what it says
  then, in turn, to prompt hooks too. ``result``: what each of the tools returns; ``raises``: what
  it raises instead.
- ``confirm``: what the user answers; without it nobody can be asked.
- ``steps``: what happens in the session: ``["prompt", text]``, ``["compress", trigger]``,
  ``["fire", event, fields]``, ``["call", tool, input, server]`` of an MCP server, or ``["wait"]``
  for hooks in the background. ``source``: how the session begins. ``project``: what its folder is
  called.
- ``reads``: the document that the hook reads, a list of them for one that runs more often, a list
  of lists for several hooks; compared byte for byte. Of a prompt hook it is what the model reads.
  ``runs``: how often it runs, once if the case says nothing.
- ``does``: what the session came to, by the names that ``Session`` has. ``secret``: a text whose
  traces are looked for.

In all texts ``{project}``, ``{session}``, ``{transcript}``, ``{home}`` and ``{hook}`` (the script)
stand for their values.
"""

import json
import os
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from hookline import Config, Hooks
from hookline._support.notices import heard_warnings
from hookline.agent import Agent, ScriptedProvider, Text, Tool, Turn, TurnResult
from hookline.calls.tool import ConfirmationRequest, ToolResult
from hookline.hooks import HookSession
from hookline.pipeline.answer import Answer
from hookline.wire.events import PreCompressTrigger, SessionStartSource

Case: TypeAlias = dict[str, Any]

CASES = Path(__file__).parent / "cases"
SESSION_ID = "session-1"
_KEYS = {
    *("name", "event", "matcher", "handler", "says", "settings", "files", "plugins", "project"),
    *("environment", "calls", "replies", "result", "raises", "confirm", "steps", "source"),
    *("reads", "runs", "does", "secret", "claude", "trusted"),
}
_USUAL_CALLS = [{"name": "run_shell_command", "args": {"command": "ls"}}]
_USUAL_STEPS = [["prompt", "go"]]
_EARLIER = (Turn("user", (Text("hello"),)), Turn("model", (Text("hi"),)))
# Nobody knows it beforehand, and everybody knows its form.
_SHOWN = re.compile(r"<event-(\w+)>\n(.*?)\n</event-\1>", re.DOTALL)
# The id of a turn, in everything that hooks read during it.
_PROMPT_ID = re.compile(r'"prompt_id":"[0-9a-f]{32}",')
_DURATION = re.compile(r'"duration_ms":\d+(\.\d+)?(?=[,}])')


def read_cases() -> Iterator[Case]:
    """Every case, with what the cases of its file have in common."""
    for path in sorted(CASES.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        for case in held["cases"]:
            unknown = {*held.get("usual", {}), *case} - _KEYS
            assert not unknown, f"{path.name}: {case['name']} has {unknown}"
            yield {**held.get("usual", {}), **case, "file": path.stem}


class Session:
    """A session in which a case happened; its attributes are what cases compare."""

    def __init__(self, case: Case, project: Path) -> None:
        self.case = case
        self.project = project
        self._seen = project.parent / "seen"
        self._seen.mkdir()
        self._said = case.get("says", {})
        self._hooks = self._said if isinstance(self._said, list) else [self._said]
        self._texts = {
            "project": str(project),
            "session": SESSION_ID,
            "transcript": str(project.parent / "transcript.jsonl"),
            "home": os.environ["HOME"],
            "hook": str(project / "hook0.sh"),
        }
        calls = case.get("calls", _USUAL_CALLS)
        parts = [
            {"functionCall": {"id": f"call_{number}", **self.fill(call)}}
            for number, call in enumerate(calls, start=1)
        ]
        replies = case.get("replies", ["done"] * 20)
        self._provider = ScriptedProvider([*([parts] if parts else ()), *replies])
        self._results: list[TurnResult] = []
        self._answers: list[Answer] = []
        self._asked: list[ConfirmationRequest] = []
        self.ran: list[Any] = []
        self.shown: list[str] = []
        self.warnings: list[str] = []
        self.problems: list[str] = []
        self.timeouts: list[float] = []
        self.exports: dict[str, str] = {}
        self.compressed = False

    def fill(self, value: Any) -> Any:
        """A value of the case with what its placeholders stand for."""
        text = json.dumps(value)
        for name, meant in self._texts.items():
            text = text.replace(f"{{{name}}}", meant)
        return json.loads(text)

    async def run(self) -> None:
        """Write the project's files and go through the session."""
        self._write_files()
        case = self.case
        config = Config.load(
            self.project,
            claude=case.get("claude", True),
            trusted=case.get("trusted", True),
            plugins=[self.project / name for name in case.get("plugins", ())],
            session_id=SESSION_ID,
            transcript_path=self._texts["transcript"],
        )
        hooks = HookSession(Hooks.of(config).view.heard_by(self._hear))
        agent = Agent(
            hooks,
            self._provider,
            [
                Tool(name=name, run=partial(self._run_tool, name), kind="exec")
                for name in dict.fromkeys(call["name"] for call in case.get("calls", _USUAL_CALLS))
            ],
            notify=self.shown.append,
            confirm=self._confirm if "confirm" in case else None,
            keep_turns=1,
            source=SessionStartSource(case.get("source", "startup")),
            history=_EARLIER if "compress" in json.dumps(case.get("steps")) else (),
            transcript=self._texts["transcript"],
        )
        with heard_warnings() as warnings:
            async with agent:
                for step in self.fill(case.get("steps", _USUAL_STEPS)):
                    await self._take(step, agent, hooks, config)
                self.exports = agent.exports
                history = agent.chat.history
                self.compressed = bool(history) and history[0].text.startswith("[Summary]")
            system = config.get_hook_system()
            if system is not None:
                self.timeouts = [entry.hook.timeout for entry in system.get_all_hooks()]
            self.problems = [problem.message for problem in config.get_settings().problems]
            config.dispose()
        self.warnings = warnings

    @property
    def read(self) -> list[list[str]]:
        """What each hook read, a text for each of its runs."""
        if self.case.get("handler", {}).get("type") == "prompt":
            texts = [request["contents"][0]["parts"][0]["text"] for request in self._judged]
            found = [found[2] for text in texts for found in _SHOWN.finditer(text)]
            return [[_PROMPT_ID.sub("", text) for text in found]]
        files = [self._seen / str(number) for number in range(len(self._hooks))]
        texts = [path.read_text("utf-8") if path.exists() else "" for path in files]
        return [_PROMPT_ID.sub("", text).split("\n")[:-1] for text in texts]

    @property
    def variables(self) -> dict[str, str]:
        """The variables of its environment that the case asks about, as the hook found them."""
        lines = (self._seen / "variables").read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def folder(self) -> str:
        """Where the hook ran."""
        return (self._seen / "folder").read_text("utf-8").strip()

    @property
    def _judged(self) -> list[Any]:
        return [request for request in self._provider.requests if _is_of_judge(request)]

    @property
    def _last_sent(self) -> list[Any]:
        """What the model was sent in the last call of the conversation."""
        requests = [request for request in self._provider.requests if not _is_of_judge(request)]
        return list(requests[-1]["contents"]) if requests else []

    @property
    def tool_results(self) -> list[dict[str, str]]:
        """What the model read of each tool call, as ``output`` or as ``error``."""
        parts = [part for content in self._last_sent for part in content["parts"]]
        return [p["functionResponse"]["response"] for p in parts if "functionResponse" in p]

    @property
    def tool_result(self) -> dict[str, str] | None:
        """What the model read of the first tool call."""
        return next(iter(self.tool_results), None)

    @property
    def prompts(self) -> list[str]:
        """What the model read in the user's name, in the last call of it."""
        users = [content for content in self._last_sent if content["role"] == "user"]
        return [part["text"] for content in users for part in content["parts"] if "text" in part]

    @property
    def transcript(self) -> list[str]:
        """What the transcript has of what was said, a line for each text."""
        lines = Path(self._texts["transcript"]).read_text("utf-8").splitlines()
        messages = [json.loads(line)["message"] for line in lines]
        blocks = [(message["role"], message["content"][0]) for message in messages]
        return [f"{role}: {block['text']}" for role, block in blocks if "text" in block]

    @property
    def traces(self) -> list[str]:
        """Where the secret of the case can be read."""
        path = Path(self._texts["transcript"])
        places = {
            "transcript": path.read_text("utf-8") if path.exists() else "",
            "requests": json.dumps(self._provider.requests),
            "shown": json.dumps(self.shown),
            "warnings": json.dumps(self.warnings),
        }
        return [place for place, text in places.items() if self.case["secret"] in text]

    @property
    def model_calls(self) -> int:
        """How often the model was called, but for prompt hooks."""
        return len(self._provider.requests) - len(self._judged)

    @property
    def questions(self) -> list[str]:
        """What prompt hooks asked, ``{event}`` in place of the document."""
        texts = [request["contents"][0]["parts"][0]["text"] for request in self._judged]
        return [_SHOWN.sub("{event}", text).split("\n\n", 1)[1] for text in texts]

    @property
    def refused(self) -> bool:
        return self._results[-1].refused

    @property
    def reason(self) -> str | None:
        return self._results[-1].reason

    @property
    def stop_reason(self) -> str | None:
        return self._results[-1].stop_reason

    @property
    def asked(self) -> list[str]:
        """Why the user was asked, each time."""
        return [request.reason for request in self._asked]

    @property
    def asked_about(self) -> list[Any]:
        """The input of the calls that the user was asked about."""
        return [request.tool_input for request in self._asked]

    @property
    def failures(self) -> list[str]:
        """What went wrong with hooks, by its code and in words."""
        errors = [error for answer in self._answers for error in answer.failures]
        return [f"{error.code}: {error.message}" for error in errors]

    @property
    def answer(self) -> dict[str, Any]:
        """The answer to the event that the case fired by its name."""
        answer = next(a for a in reversed(self._answers) if a.event != "SessionEnd")
        names = ("denied", "stopped", "reason", "context", "send_back", "system_message")
        given = {name: getattr(answer, name) for name in names}
        return {name: value for name, value in given.items() if value}

    def _write_files(self) -> None:
        case, files = self.case, dict(self.case.get("files", {}))
        handlers = []
        for number, said in enumerate(self._hooks):
            script = self.project / f"hook{number}.sh"
            script.write_text(self._write_script(number, said), encoding="utf-8")
            usual = {"type": "command", "command": f"/bin/sh {shlex.quote(str(script))}"}
            handlers.append({**usual, **case.get("handler", {}), **said.get("handler", {})})
        matcher = {"matcher": case["matcher"]} if "matcher" in case else {}
        settings = dict(case.get("settings", {}))
        by_event = dict(settings.pop("hooks", {}))
        own = {**matcher, "hooks": handlers}
        by_event[case["event"]] = [*by_event.get(case["event"], []), own]
        files.setdefault(".claude/settings.json", {"hooks": by_event, **settings})
        for name, content in files.items():
            home = name.startswith("~/")
            path = Path(os.environ["HOME"], name[2:]) if home else self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            filled = self.fill(content)
            text = filled if isinstance(filled, str) else json.dumps(filled)
            path.write_text(text, encoding="utf-8")

    def _write_script(self, number: int, said: dict[str, Any]) -> str:
        """A script that keeps what it reads, and then says what the case says."""
        seen = shlex.quote(str(self._seen / str(number)))
        lines = [f"cat > {seen}.$$; {{ cat {seen}.$$; echo; }} >> {seen}"]
        names = self.case.get("does", {}).get("variables", {})
        asked = "".join(f' "{name}=${{{name}-(unset)}}"' for name in names)
        if asked:
            lines.append(f"printf '%s\\n'{asked} > {shlex.quote(str(self._seen / 'variables'))}")
        if "folder" in self.case.get("does", {}):
            lines.append(f"pwd -P > {shlex.quote(str(self._seen / 'folder'))}")
        if "unless" in said:
            lines.append(f"grep -qF -e {shlex.quote(said['unless'])} {seen}.$$ && exit 0")
        if "runs" in said:
            lines.append(self.fill(said["runs"]))
        for name, redirect in (("stdout", ""), ("stderr", " >&2")):
            if name in said:
                value = self.fill(said[name])
                text = value if isinstance(value, str) else json.dumps(value)
                lines.append(f"printf '%s\\n' {shlex.quote(text)}{redirect}")
        return "\n".join(["#!/bin/sh", *lines, f"exit {said.get('exit', 0)}\n"])

    async def _take(
        self, step: list[Any], agent: Agent, hooks: HookSession, config: Config
    ) -> None:
        match step:
            case ["prompt", text]:
                self._results.append(await agent.run(text))
            case ["compress", trigger]:
                await agent.compress(PreCompressTrigger(trigger))
            case ["fire", name, fields]:
                await hooks.fire_claude_event(name, fields)
            case ["call", name, given, server]:
                run = partial(self._run_tool, name)
                await hooks.run_tool(
                    run, given, name=name, call=run, mcp_context=server, call_id="call_1"
                )
            case ["wait"]:
                system = config.get_hook_system()
                assert system is not None
                assert system.wait_for_background(30)
            case _:
                raise ValueError(f"no step of a session: {step}")

    async def _hear(self, answer: Answer) -> None:
        self._answers.append(answer)

    def _run_tool(self, name: str, given: dict[str, Any]) -> Any:
        self.ran.append(given if name == "run_shell_command" else {name: given})
        if "raises" in self.case:
            raise RuntimeError(self.case["raises"])
        result = self.fill(self.case.get("result", "a.txt"))
        return msgspec.convert(result, ToolResult) if isinstance(result, dict) else result

    def _confirm(self, request: ConfirmationRequest) -> bool:
        self._asked.append(request)
        is_allowed: bool = self.case["confirm"]
        return is_allowed


def compare(session: Session) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the case expects of its session, and what there was of it."""
    case = session.case
    does = {"failures": [], **session.fill(case.get("does", {}))}
    expected: dict[str, Any] = dict(does)
    actual: dict[str, Any] = {name: getattr(session, name) for name in does}
    for name in ("failures", "warnings", "problems"):
        if name in does:
            actual[name] = _shorten(actual[name], does[name])
    documents = case.get("reads")
    if documents is None:
        expected["runs"] = case.get("runs", 1)
        runs = [len(texts) for texts in session.read]
        actual["runs"] = runs if isinstance(expected["runs"], list) else sum(runs)
    else:
        by_run = documents if isinstance(documents, list) else [documents]
        by_hook = by_run if isinstance(by_run[0], list) else [by_run]
        expected["reads"] = [[_write(session.fill(d)) for d in texts] for texts in by_hook]
        actual["reads"] = [
            [_DURATION.sub('"duration_ms":"{duration}"', text) for text in texts]
            for texts in session.read
        ]
    return expected, actual


def _is_of_judge(request: Any) -> bool:
    return bool(_SHOWN.search(request["contents"][0]["parts"][0].get("text", "")))


def _write(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _shorten(texts: list[str], parts: list[str]) -> list[str]:
    """Each text as the part of it that a case expects, if it has that part; ``kind: part`` is at
    its beginning and anywhere after it."""
    pairs = zip(texts, [*parts, *["\0"] * len(texts)], strict=False)
    return [part if _has(text, part) else text for text, part in pairs]


def _has(text: str, part: str) -> bool:
    kind, found, rest = part.partition(": ")
    return (text.startswith(f"{kind}: ") and rest in text) if found else part in text
