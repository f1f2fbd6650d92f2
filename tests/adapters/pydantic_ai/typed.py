"""What a type checker knows of agents with hooks; checked, never run."""

from dataclasses import dataclass
from typing import assert_type

from pydantic_ai import Agent, RunContext
from pydantic_ai.models.test import TestModel

from hookline.adapters.pydantic_ai import HooklineCapability


@dataclass
class Shop:
    user: str


def name_user(ctx: RunContext[Shop]) -> str | None:
    return ctx.deps.user


def name_number(ctx: RunContext[int]) -> str | None:
    return str(ctx.deps + 1)


# An agent keeps the type of its dependencies, and of a lack of them.
assert_type(
    Agent(TestModel(), deps_type=Shop, capabilities=[HooklineCapability()]), Agent[Shop, str]
)
assert_type(Agent(TestModel(), capabilities=[HooklineCapability()]), Agent[object, str])
named = Agent[Shop, str](
    TestModel(), deps_type=Shop, capabilities=[HooklineCapability(session_id=name_user)]
)
assert_type(named.run_sync("Hello", deps=Shop("ada")).output, str)
# One capability serves agents of any dependencies.
with HooklineCapability() as shared:
    first = Agent(TestModel(), deps_type=Shop, capabilities=[shared])
    second = Agent(TestModel(), deps_type=int, capabilities=[shared])
# A session cannot be named by what the agent's dependencies are not.
wrong = Agent[Shop, str](
    TestModel(),
    deps_type=Shop,
    capabilities=[HooklineCapability(session_id=name_number)],  # type: ignore[arg-type]
)
