"""Runs conformance cases: ``python -m hookline.testing.conformance [--answers] CASE.json…``

A case is data: settings, files, an event, and what a conforming engine answers. Each runs in a
fresh directory with an environment of its own.
"""

import argparse
import asyncio
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.answer import Answer
from hookline.config import Config
from hookline.errors import HooklineError, TranslationError
from hookline.handler import HookEventHandler
from hookline.hooktests.comparing import differences
from hookline.hooktests.running import replace_texts, variables
from hookline.pipeline.registry import HookRegistryEntry
from hookline.system import HookSystem
from hookline.translate.genai import GenAITranslator
from hookline.wire import codec
from hookline.wire.clock import timestamp
from hookline.wire.confirmation import tool_notification
from hookline.wire.hooks import Redaction

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_TRANSLATIONS = {
    "toHookLLMRequest": "to_hook_llm_request",
    "fromHookLLMRequest": "from_hook_llm_request",
    "toHookLLMResponse": "to_hook_llm_response",
    "fromHookLLMResponse": "from_hook_llm_response",
    "toHookToolConfig": "to_hook_tool_config",
    "fromHookToolConfig": "from_hook_tool_config",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cases; 0 when all agree."""
    parser = argparse.ArgumentParser(prog="python -m hookline.testing.conformance")
    parser.add_argument("--answers", action="store_true", help="print the answers, compare nothing")
    parser.add_argument("cases", nargs="+", metavar="CASE.json", type=Path)
    options = parser.parse_args(argv)
    # Cases misbehave on purpose, and a warning is a right answer to that, not news.
    logging.getLogger("hookline").addHandler(logging.NullHandler())
    agreed = [_run_file(path, comparing=not options.answers) for path in options.cases]
    if not options.answers:
        print(f"{agreed.count(True)} passed, {agreed.count(False)} failed")
    return 0 if all(agreed) else 1


def _run_file(path: Path, *, comparing: bool) -> bool:
    try:
        case = codec.decode(path.read_bytes())
        if not isinstance(case, dict):
            raise TypeError("a case is an object")
        answer = run_case(case)
    except Exception as error:
        # A file that is no case must not keep the others from running.
        print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    name = case.get("name", path.stem)
    if not comparing:
        print(codec.encode({"name": name, "answer": answer}).decode())
        return True
    found = list(describe_differences(case.get("expect", {}), answer))
    if found:
        print(f"{name}: {case.get('description', '')}")
        print("".join(f"  {line}\n" for line in found), end="")
    return not found


def run_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case's answer in the shape of its ``expect``, with places and times as placeholders."""
    with tempfile.TemporaryDirectory(prefix="hookline-", ignore_cleanup_errors=True) as made:
        root = Path(os.path.realpath(made))
        work = root / case.get("cwd_name", "work")
        home = root / "home"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "USER": "tester",
            "SHLVL": "1",
            **{k: v.replace("$ROOT", str(root)) for k, v in case.get("env", {}).items()},
        }
        home.mkdir()
        _write_files(Path(environment["HOME"]), case.get("setup_home", {}))
        _write_files(work, case.get("files", {}))
        began = timestamp()
        with variables({**dict.fromkeys(os.environ), **environment}):
            answer = asyncio.run(answer_of(case, work))
        ended = timestamp()
        # A time that the case itself brought along is part of what is compared.
        times = sorted(set(_TIMESTAMP.findall(str(answer))))
        names = [(str(work), "$CWD"), (str(home), "$HOME"), (str(root), "$ROOT")]
        names += [(time, "$TIMESTAMP") for time in times if began <= time <= ended]
        result: dict[str, Any] = replace_texts(answer, names)
        return result


def describe_differences(expect: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    """Where an answer departs from what is expected, one line each; what a case does not speak of
    at its top does not count."""
    for name, expected in expect.items():
        for found in differences(expected, answer.get(name, UNSET), at=name, exact=True):
            values = (found.expected, found.actual)
            wanted, got = ("nothing" if value is UNSET else repr(value) for value in values)
            yield f"{found.at}: expected {wanted}, got {got}"


def _write_files(directory: Path, files: Mapping[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, given in files.items():
        file = given if isinstance(given, dict) else {"content": given}
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"], encoding="utf-8", errors="surrogatepass")
        path.chmod(int(str(file.get("mode", "755")), 8))


async def answer_of(case: Mapping[str, Any], work: Path) -> dict[str, Any]:
    """What the engine answers to a case whose files are in ``work``."""
    if "translate" in case:
        return {"translated": [_translate(step) for step in case["translate"]]}
    settings = case.get("settings", {})
    trust = {"now": settings.get("trusted", True)}
    config = _config(settings, work, lambda: trust["now"])
    system = HookSystem(config)
    try:
        runtime = _RuntimeHooks(system)
        runtime.register_all(case.get("register_before_init", ()))
        await system.initialize()
        runtime.register_all(case.get("register", ()))
        for toggle in case.get("toggle", ()):
            system.set_hook_enabled(toggle["name"], toggle["enabled"])
        registry = [_entry(entry) for entry in system.get_all_hooks()]
        trust["now"] = settings.get("trusted_at_run", trust["now"])
        args = case.get("args", {})
        for _ in range(max(1, case.get("fire_times", 1))):
            answer = await _fire(system.get_event_handler(), case["event"], args)
    finally:
        system.dispose()
    return {
        "registry": registry,
        **({"registration_errors": runtime.refused} if runtime.refused else {}),
        **_outcome(answer, case["event"]),
        **(
            {"collected": {name: _content(work / name) for name in case["collect"]}}
            if "collect" in case
            else {}
        ),
        **({"runtime_inputs": runtime.inputs} if runtime.inputs else {}),
    }


def _config(settings: Mapping[str, Any], work: Path, trusted: Any) -> Config:
    said = settings.get("sanitization", {})
    return Config(
        working_dir=work,
        session_id=settings.get("session_id", "session-0001"),
        transcript_path=settings.get("transcript_path", ""),
        hooks=settings.get("hooks"),
        disabled=settings.get("disabled", ()),
        extensions=settings.get("extensions", ()),
        trusted=trusted,
        redaction=Redaction(
            enabled=said.get("enableEnvironmentVariableRedaction", False),
            allowed=tuple(said.get("allowedEnvironmentVariables", ())),
            blocked=tuple(said.get("blockedEnvironmentVariables", ())),
        ),
    )


class _RuntimeHooks:
    """Registers a case's hooks and keeps what the in-process ones were given."""

    def __init__(self, system: HookSystem) -> None:
        self._system = system
        self.inputs: dict[str, list[Any]] = {}
        self.refused = 0

    def register_all(self, hooks: Any) -> None:
        for hook in hooks:
            config = hook["config"]
            if isinstance(config, dict) and config.get("type") == "runtime":
                function = self._function(config.get("name", ""), hook.get("action", {}))
                config = {**config, "function": function}
            try:
                self._system.register_hook(
                    hook["event"],
                    config,
                    matcher=hook.get("matcher"),
                    sequential=hook.get("sequential", False),
                    source=hook.get("source") or "runtime",
                )
            except HooklineError:
                self.refused += 1

    def _function(self, name: str, action: Mapping[str, Any]) -> Any:
        async def act(input: dict[str, Any]) -> Any:
            self.inputs.setdefault(name, []).append(input)
            await asyncio.sleep(action.get("sleep_ms", 0) / 1000)
            if "throw" in action:
                raise RuntimeError(action["throw"])
            return action.get("return")

        return act


async def _fire(handler: HookEventHandler, event: str, args: Mapping[str, Any]) -> Answer:
    if "confirmation" in args:
        notification = tool_notification(args["confirmation"])
        return await handler.fire(event, msgspec.structs.asdict(notification))
    renamed = {"sdk_request": "model_request", "sdk_response": "model_response"}
    return await handler.fire(event, {renamed.get(name, name): args[name] for name in args})


def _entry(entry: HookRegistryEntry) -> dict[str, Any]:
    described: dict[str, Any] = {
        "event": entry.event.value,
        "name": entry.name,
        "type": entry.hook.type,
        "source": entry.source.value,
        "enabled": entry.enabled,
    }
    if entry.matcher is not msgspec.UNSET:
        described["matcher"] = entry.matcher
    if entry.sequential:
        described["sequential"] = True
    if not entry.trusted:
        described["trusted"] = False
    return described


def _outcome(answer: Answer, event: str) -> dict[str, Any]:
    """What ``fire --json`` says, as far as a case speaks of it."""
    document = answer.document(event)
    named = ("hook", "success", "exit_code", "output", "failed")
    outcome = {
        "plan": document["plan"],
        "results": [{n: result[n] for n in named if n in result} for result in document["results"]],
        "success": answer.success,
        "error_count": len(answer.failures),
        "all_outputs": answer.all_outputs,
        "final_output": document["final_output"],
    }
    return outcome if answer.final_output is None else {**outcome, "view": document["view"]}


def _content(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    try:
        return {"json": codec.decode(text)}
    except codec.DecodeError:
        return {"text": text}


def _translate(step: Mapping[str, Any]) -> Any:
    operation = getattr(GenAITranslator(), _TRANSLATIONS[step["op"]])
    try:
        return operation(*step["args"])
    except TranslationError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    sys.exit(main())
