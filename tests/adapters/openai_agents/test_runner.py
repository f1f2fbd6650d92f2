"""What the runner notes of a run, and the marks that it puts on a run's questions."""

from typing import Any

from agents import Agent

from hookline.adapters.openai_agents.model import hook_model
from hookline.adapters.openai_agents.runner import find_bypass
from hookline.adapters.openai_agents.runs import Facts
from tests.adapters.openai_agents.playing import script


def test_a_run_bypasses_hooks_with_another_model_or_a_name_that_nobody_hooked() -> None:
    named, own = Agent[Any](name="clerk", model="small"), Agent[Any](name="clerk", model=script())
    other = Facts(model=script(), hooks_names=True)
    assert "RunConfig(model=…) bypasses hooks" in (find_bypass(own, other) or "")
    assert find_bypass(own, Facts(model=hook_model(script()), hooks_names=True)) is None
    assert find_bypass(named, Facts(model="big", hooks_names=True)) is None
    assert "began with an agent that has no hooks" in (find_bypass(named, Facts()) or "")
    assert find_bypass(own, Facts()) is None
