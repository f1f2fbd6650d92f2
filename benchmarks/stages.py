"""Measures the stages of an event that matches, each on its own."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import fixtures
from benchmarks.sampling import Group, Measurement, Run, Workload, calling
from hookline import Config, HookEventName, HookExecutionResult, HookSystem
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.planner import HookPlanner
from hookline.settings.reader import read_layer
from hookline.trust.folder import FolderTrust
from hookline.trust.review import review
from hookline.trust.store import TrustStore
from hookline.wire import codec
from hookline.wire.hooks import CommandHook, HookSource
from hookline.wire.results import HookExecutionPlan

_EVENT = HookEventName.BEFORE_TOOL
_COVERED = 20
# Microseconds that an event may spend on checking that its hook has not changed.
_TRUST_BOUND = 500


def stages(scratch: Path) -> Group:
    """Planning and merging fifty hooks, encoding and decoding 10 KB, checking the review of a
    hook."""
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
    files = _write_hook(scratch / "reviewed")
    trust = Workload("trust of a hook with 20 covered files", _trusting(scratch / "reviewed"))
    stats = Workload("20 os.stat", calling(_stat_all, files))
    return Group(
        100,
        [
            Measurement(ours=plan, baseline=searches, peer="plan"),
            Measurement(ours=merge, baseline=updates, peer="aggregate"),
            Measurement(ours=encode, baseline=dumps, target=0.5, peer="encode"),
            Measurement(ours=decode, baseline=loads, target=0.7, peer="decode"),
            Measurement(ours=trust, baseline=stats, bound=_TRUST_BOUND),
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


def _write_hook(project: Path) -> list[str]:
    """A hook folder of twenty files."""
    folder = project / ".hookline" / "hooks"
    folder.mkdir(parents=True)
    files = [folder / f"part{number}.sh" for number in range(_COVERED)]
    for file in files:
        file.write_text("#!/bin/sh\n# what a hook sources\n" * 50)
        file.chmod(0o755)
    return [str(file) for file in files]


def _trusting(project: Path) -> Run:
    """Check a hook that has not changed since its review, as every event does."""
    hook = {"type": "command", "command": "$HOOKLINE_PROJECT_DIR/.hookline/hooks/part0.sh"}
    layer = read_layer(
        {"hooks": {_EVENT.value: [{"hooks": [hook]}]}}, HookSource.PROJECT, "settings.json"
    )
    here = str(project)
    store = TrustStore(str(project.parent / "trust"))
    looked = review(layer.entries, project_dir=here, cwd=here)
    assert len(looked.review.files) >= _COVERED
    store.write(looked)
    trust = FolderTrust([store], project_dir=here, cwd=here)
    trust.use([layer], is_on=lambda _hook: True)
    entry, _ = trust.admit(layer.entries[0])
    assert trust.why_untrusted(entry.hook) is None
    return calling(trust.why_untrusted, entry.hook)


def _stat_all(files: Sequence[str]) -> None:
    for file in files:
        os.stat(file)


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
