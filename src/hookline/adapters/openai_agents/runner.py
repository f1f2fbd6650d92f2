"""The runner in front of the SDK's default one.

Only a runner sees a run's ``RunConfig`` and ``Session``. This one notes them, hooks the models that
are looked up by name, and leaves everything else to the runner behind it.
"""

from dataclasses import replace
from typing import Any, TypeVar

from agents import Agent, Model, RunConfig, RunResult, RunResultStreaming, RunState
from agents.models.multi_provider import MultiProvider
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner

from hookline.adapters.openai_agents.items import Mark, put_mark, read_mark
from hookline.adapters.openai_agents.model import HookedModel, HookedProvider
from hookline.adapters.openai_agents.runs import Facts, agent_instead, noting

# The options by which the provider keeps the conversation.
_KEEPING = ("conversation_id", "previous_response_id", "auto_previous_response_id")
R = TypeVar("R", RunResult, RunResultStreaming)


class NotingRunner(AgentRunner):
    """The runner in front of the SDK's default one."""

    def __init__(self, inner: AgentRunner) -> None:
        self._inner = inner

    async def run(self, starting_agent: Any, input: Any, **options: Any) -> RunResult:
        """Run an agent, and note what is known of the run."""
        agent, options, facts = _prepare(starting_agent, input, options)
        with noting(facts):
            return _mark_questions(await self._inner.run(agent, input, **options), facts)

    def run_sync(self, starting_agent: Any, input: Any, **options: Any) -> RunResult:
        """Run an agent in the thread's own event loop."""
        agent, options, facts = _prepare(starting_agent, input, options)
        with noting(facts):
            return _mark_questions(self._inner.run_sync(agent, input, **options), facts)

    def run_streamed(self, starting_agent: Any, input: Any, **options: Any) -> RunResultStreaming:
        """Run an agent in a task of its own."""
        agent, options, facts = _prepare(starting_agent, input, options)
        with noting(facts):
            result = self._inner.run_streamed(agent, input, **options)
        if result.run_loop_task is not None:
            result.run_loop_task.add_done_callback(lambda _task: _mark_questions(result, facts))
        return result


def install_runner() -> None:
    """Put this runner in front of the default one, once."""
    runner = get_default_agent_runner()
    if not isinstance(runner, NotingRunner):
        set_default_agent_runner(NotingRunner(runner))


def _mark_questions(result: R, facts: Facts) -> R:
    """Mark the result's open questions with what hooks answered, so that its state holds that."""
    for item in result.interruptions:
        mark = read_mark(item)
        if not isinstance(mark, Mark):
            # An agent that runs as a tool has marked its own questions.
            question = facts.questions.get(item.call_id or "", {})
            is_its = question.get("tool_name") == item.qualified_name
            mark = Mark(question if is_its else {})
        if facts.stop is not None:
            own = {"session_id": facts.session_id, "turn_id": facts.turn_id}
            mark |= {**own, "stop": facts.stop}
        put_mark(item, mark)
    return result


def _prepare(
    agent: Agent[Any], given: object, options: dict[str, Any]
) -> tuple[Agent[Any], dict[str, Any], Facts]:
    agent = agent_instead(agent)
    config = options.get("run_config")
    given_config = config if isinstance(config, dict) else {} if config is None else vars(config)
    guard = getattr(type(agent), "_hookline", None)
    facts = Facts(
        model=given_config.get("model"),
        is_resumed=isinstance(given, RunState),
        hooks_names=guard is not None,
        is_kept=any(map(options.get, _KEEPING)),
    )
    if isinstance(given, RunState) and guard is not None:
        for item in given.get_interruptions():
            mark = read_mark(item)
            if mark and getattr(type(item.agent), "_hookline", None) is guard:
                facts.questions[item.call_id or ""] = mark
                facts.stop = facts.stop or mark.get("stop")
    session = options.get("session")
    ids = (
        options.get("conversation_id"),
        getattr(session, "session_id", None),
        given_config.get("group_id"),
        *(mark.get("session_id") for mark in facts.questions.values()),
    )
    facts.session_id = next((id for id in ids if isinstance(id, str) and id.strip()), None)
    turns = (mark.get("turn_id") for mark in facts.questions.values())
    facts.turn_id = next((id for id in turns if isinstance(id, str) and id), None)
    if _has_other_model(facts):
        # Hooks do not see that model, so nothing tells which calls belong to the state.
        facts.questions.clear()
    if guard is not None:
        options = {**options, "run_config": _hook_names(config)}
    return agent, options, facts


def _hook_names(config: RunConfig | dict[str, Any] | None) -> RunConfig | dict[str, Any]:
    """Return the configuration with a provider whose models are hooked."""
    if config is None:
        return RunConfig(model_provider=HookedProvider(MultiProvider()))
    if isinstance(config, dict):
        provider = config.get("model_provider") or MultiProvider()
        return {**config, "model_provider": HookedProvider.of(provider)}
    return replace(config, model_provider=HookedProvider.of(config.model_provider))


def _has_other_model(facts: Facts) -> bool:
    return isinstance(facts.model, Model) and not isinstance(facts.model, HookedModel)


def find_bypass(agent: Agent[Any], facts: Facts) -> str | None:
    """Return how a run bypasses the hooks of its model; None if it does not."""
    if _has_other_model(facts):
        return (
            "the model of RunConfig(model=…) bypasses hooks: they see neither its requests and "
            "responses nor the turn; give the model to the agent, or its name to RunConfig"
        )
    if not facts.hooks_names and not isinstance(agent.model, Model):
        return (
            f"the run began with an agent that has no hooks, so the model of {agent.name} bypasses "
            "hooks; start the run with hooked(agent)"
        )
    return None
