"""Runs conformance cases: ``python -m hookline.testing.conformance [--answers] CASE.json…``

A case is data: settings, files, an event, and the answer of a conforming engine. Each runs in a
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.calls.question import tool_notification
from hookline.contract import Config, HookEventHandler, HookSystem
from hookline.errors import HooklineError, TranslationError
from hookline.hooktests.comparison import differences
from hookline.hooktests.runs import replace_texts
from hookline.pipeline.answer import Answer
from hookline.pipeline.registry import HookRegistryEntry
from hookline.translate.choice import AnyTranslator
from hookline.wire import codec
from hookline.wire.codec import timestamp
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
    """Run the cases; return 0 if all answers are as expected."""
    parser = argparse.ArgumentParser(prog="python -m hookline.testing.conformance")
    parser.add_argument("--answers", action="store_true", help="print the answers, compare nothing")
    parser.add_argument("cases", nargs="+", metavar="CASE.json", type=Path)
    options = parser.parse_args(argv)
    # The hooks of cases misbehave on purpose, so warnings about them are not worth printing.
    logging.getLogger("hookline").addHandler(logging.NullHandler())
    agreed: list[bool] = []
    for path in options.cases:
        try:
            case = codec.decode(path.read_bytes())
            if not isinstance(case, dict):
                raise TypeError("a case is an object")
            answer = run_case(case)
        except Exception as error:
            # A malformed file must not keep the other cases from running.
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
            agreed.append(False)
            continue
        name = case.get("name", path.stem)
        found: list[str] = []
        if options.answers:
            print(codec.encode({"name": name, "answer": answer}).decode())
        else:
            found += describe_differences(case.get("expect", {}), answer)
        if found:
            print(f"{name}: {case.get('description', '')}")
            print("".join(f"  {line}\n" for line in found), end="")
        agreed.append(not found)
    if not options.answers:
        print(f"{agreed.count(True)} passed, {agreed.count(False)} failed")
    return 0 if all(agreed) else 1


def run_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """Run a case: its answer in the shape of ``expect``, with placeholders for paths and times."""
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
        # A time that the case itself contains is compared as it is.
        times = sorted(set(_TIMESTAMP.findall(str(answer))))
        names = [(str(work), "$CWD"), (str(home), "$HOME"), (str(root), "$ROOT")]
        names += [(time, "$TIMESTAMP") for time in times if began <= time <= ended]
        result: dict[str, Any] = replace_texts(answer, names)
        return result


@contextmanager
def variables(env: Mapping[str, str | None]) -> Iterator[None]:
    """Set these variables in the environment of this process, which hooks inherit (None: unset)."""

    def put(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    before = {name: os.environ.get(name) for name in env}
    try:
        put(env)
        yield
    finally:
        put(before)


def describe_differences(expect: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    """The differences between an answer and the expected one, a line each; names that a case does
    not have at its top level are not compared."""
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


async def fire(handler: HookEventHandler, event: str, payload: Mapping[str, Any]) -> Answer:
    """Fire a case's event; replace this function to run the cases in another way."""
    return await handler.fire(event, payload)


async def answer_of(case: Mapping[str, Any], work: Path) -> dict[str, Any]:
    """The engine's answer to a case whose files are in ``work``."""
    if "translate" in case:
        return {"translated": [_translate(step) for step in case["translate"]]}
    settings = case.get("settings", {})
    said = settings.get("sanitization", {})
    trust = {"now": settings.get("trusted", True)}
    config = Config(
        working_dir=work,
        session_id=settings.get("session_id", "session-0001"),
        transcript_path=settings.get("transcript_path", ""),
        hooks=settings.get("hooks"),
        disabled=settings.get("disabled", ()),
        extensions=settings.get("extensions", ()),
        trusted=lambda: trust["now"],
        redaction=Redaction(
            enabled=said.get("enableEnvironmentVariableRedaction", False),
            allowed=tuple(said.get("allowedEnvironmentVariables", ())),
            blocked=tuple(said.get("blockedEnvironmentVariables", ())),
        ),
    )
    system = HookSystem(config)
    inputs: dict[str, list[Any]] = {}
    try:
        refused = _register(system, case.get("register_before_init", ()), inputs)
        await system.initialize()
        refused += _register(system, case.get("register", ()), inputs)
        for toggle in case.get("toggle", ()):
            system.set_hook_enabled(toggle["name"], toggle["enabled"])
        registry = [_describe_entry(entry) for entry in system.get_all_hooks()]
        trust["now"] = settings.get("trusted_at_run", trust["now"])
        args = case.get("args", {})
        renamed = {"sdk_request": "model_request", "sdk_response": "model_response"}
        payload = {renamed.get(name, name): value for name, value in args.items()}
        if "confirmation" in args:
            payload = msgspec.structs.asdict(tool_notification(args["confirmation"]))
        for _ in range(max(1, case.get("fire_times", 1))):
            answer = await fire(system.get_event_handler(), case["event"], payload)
    finally:
        system.dispose()
    # The part of the output of ``fire --json`` that cases compare.
    document = answer.document(case["event"])
    named = ("hook", "success", "exit_code", "output", "failed")
    results = [{n: result[n] for n in named if n in result} for result in document["results"]]
    collected = {name: _read_content(work / name) for name in case.get("collect", ())}
    return {
        "registry": registry,
        **({"registration_errors": refused} if refused else {}),
        "plan": document["plan"],
        "results": results,
        "success": answer.success,
        "error_count": len(answer.failures),
        "all_outputs": answer.all_outputs,
        "final_output": document["final_output"],
        **({} if answer.final_output is None else {"view": document["view"]}),
        **({"collected": collected} if "collect" in case else {}),
        **({"runtime_inputs": inputs} if inputs else {}),
    }


def _register(system: HookSystem, hooks: Any, inputs: dict[str, list[Any]]) -> int:
    """Register the hooks of a case, keep what function hooks get; return how many are refused."""
    refused = 0
    for hook in hooks:
        config, action = hook["config"], hook.get("action", {})
        if isinstance(config, dict) and config.get("type") == "runtime":

            async def act(
                input: dict[str, Any],
                name: str = config.get("name", ""),
                action: Mapping[str, Any] = action,
            ) -> Any:
                inputs.setdefault(name, []).append(input)
                await asyncio.sleep(action.get("sleep_ms", 0) / 1000)
                if "throw" in action:
                    raise RuntimeError(action["throw"])
                return action.get("return")

            config = {**config, "function": act}
        try:
            system.register_hook(
                hook["event"],
                config,
                matcher=hook.get("matcher"),
                sequential=hook.get("sequential", False),
                source=hook.get("source") or "runtime",
            )
        except HooklineError:
            refused += 1
    return refused


def _describe_entry(entry: HookRegistryEntry) -> dict[str, Any]:
    return {
        "event": entry.event.value,
        "name": entry.name,
        "type": entry.hook.type,
        "source": entry.source.value,
        "enabled": entry.enabled,
        **({"matcher": entry.matcher} if entry.matcher is not UNSET else {}),
        **({"sequential": True} if entry.sequential else {}),
        **({"trusted": False} if not entry.trusted else {}),
    }


def _read_content(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    try:
        return {"json": codec.decode(text)}
    except codec.DecodeError:
        return {"text": text}


def _translate(step: Mapping[str, Any]) -> Any:
    operation = getattr(AnyTranslator(), _TRANSLATIONS[step["op"]])
    try:
        return operation(*step["args"])
    except TranslationError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    sys.exit(main())
