"""Fires a conformance case's event and writes down what the engine made of it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hookline.answer import Answer
from hookline.config import Config
from hookline.errors import HooklineError, TranslationError
from hookline.handler import HookEventHandler
from hookline.pipeline.redaction import Redaction
from hookline.pipeline.registry import HookRegistryEntry
from hookline.system import HookSystem
from hookline.translate.genai import GenAITranslator
from hookline.wire import codec
from hookline.wire.confirmation import tool_notification
from hookline.wire.results import HookExecutionResult

_TRANSLATIONS = {
    "toHookLLMRequest": "to_hook_llm_request",
    "fromHookLLMRequest": "from_hook_llm_request",
    "toHookLLMResponse": "to_hook_llm_response",
    "fromHookLLMResponse": "from_hook_llm_response",
    "toHookToolConfig": "to_hook_tool_config",
    "fromHookToolConfig": "from_hook_tool_config",
}


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
        **_outcome(answer),
        **({} if answer.final_output is None else {"view": answer.view()}),
        **_collected(case, work),
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


def _outcome(processed: Answer) -> dict[str, Any]:
    plan, final = processed.plan, processed.final_output
    return {
        "plan": plan
        and {"sequential": plan.sequential, "hooks": [hook.name for hook in plan.hooks]},
        "results": [_result(result) for result in processed.results],
        "success": processed.success,
        "error_count": len(processed.errors),
        "all_outputs": processed.all_outputs,
        "final_output": final.to_wire() if final is not None else None,
    }


def _result(result: HookExecutionResult) -> dict[str, Any]:
    fields = {
        "hook": result.hook.name,
        "success": result.success,
        "exit_code": result.exit_code,
        "output": result.output,
        "failed": result.failed,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _collected(case: Mapping[str, Any], work: Path) -> dict[str, Any]:
    if "collect" not in case:
        return {}
    return {"collected": {name: _content(work / name) for name in case["collect"]}}


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
