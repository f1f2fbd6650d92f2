"""The stages an event goes through when it matches, each on its own."""

import json
import re
from collections.abc import Sequence
from typing import Any

from benchmarks import fixtures
from benchmarks.sampling import Group, Measurement, Run, Workload, calling
from hookline import Config, HookEventName, HookExecutionResult, HookSystem
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.planner import HookPlanner
from hookline.wire import codec
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan

_EVENT = HookEventName.BEFORE_TOOL


def stages() -> Group:
    """Planning and merging fifty hooks, encoding and decoding 10 KB."""
    payload = fixtures.payload()
    text = codec.encode(payload)
    searches = Workload("50 searches with compiled re", _searches(fixtures.MATCHING_MATCHERS))
    updates = Workload("50 dict.update", calling(_updated, fixtures.answers()))
    dumps = Workload("json.dumps", calling(_dumped, payload))
    loads = Workload("json.loads", calling(json.loads, text))
    plan = Workload("planning 50 matching hooks, nothing cached", _planning())
    merge = Workload("aggregating 50 results", _aggregating())
    encode = Workload("encoding 10 KB", calling(codec.encode, payload))
    decode = Workload("decoding 10 KB", calling(codec.decode, text))
    return Group(
        100,
        [
            Measurement(ours=plan, baseline=searches, peer="plan"),
            Measurement(ours=merge, baseline=updates, peer="aggregate"),
            Measurement(ours=encode, baseline=dumps, target=0.5, peer="encode"),
            Measurement(ours=decode, baseline=loads, target=0.7, peer="decode"),
        ],
    )


def _planning() -> Run:
    hooks = [
        {"matcher": matcher, "hooks": [{"type": "command", "command": f"check {number}"}]}
        for number, matcher in enumerate(fixtures.MATCHING_MATCHERS)
    ]
    system = HookSystem(Config(hooks={_EVENT.value: hooks}))
    system.initialize_blocking()
    registry = system.get_registry()

    def plan() -> HookExecutionPlan | None:
        return HookPlanner(registry, warn=print).create_execution_plan(_EVENT, fixtures.TOOL_NAME)

    planned = plan()
    assert planned is not None
    assert len(planned.hooks) == len(hooks)
    return calling(plan)


def _aggregating() -> Run:
    answers = fixtures.answers()
    hooks = tuple(CommandHook(name=f"hook {n}", command="true") for n in range(len(answers)))
    results = [
        HookExecutionResult(hook=hook, event_name=_EVENT, success=True, output=answer, duration=1.0)
        for hook, answer in zip(hooks, answers, strict=True)
    ]
    plan = HookExecutionPlan(_EVENT, hooks)
    return calling(HookAggregator().aggregate_results, plan, results)


def _searches(matchers: Sequence[str]) -> Run:
    patterns = [re.compile(matcher) for matcher in matchers]

    def search() -> None:
        for pattern in patterns:
            pattern.search(fixtures.TOOL_NAME)

    return calling(search)


def _updated(answers: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for answer in answers:
        merged.update(answer)
    return merged


def _dumped(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
