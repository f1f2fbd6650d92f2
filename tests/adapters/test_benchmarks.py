"""The lines of the frameworks in the table of the benchmarks."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.harness.documents import REPOSITORY

TITLES = {
    "langchain": "LangChain",
    "openai_agents": "OpenAI Agents",
    "pydantic_ai": "Pydantic AI",
    "adk": "ADK",
    "genai": "google-genai",
    "strands": "Strands",
}
HERE = [title for name, title in TITLES.items() if find_spec(f"hookline.adapters.{name}")]


@pytest.mark.timeout(120)
def test_every_framework_is_measured_beside_the_same_agent_without_hookline(
    tmp_path: Path,
) -> None:
    script, output = REPOSITORY / "benchmarks" / "run.py", tmp_path / "results.json"
    argv = [sys.executable, str(script), "adapters", "--frameworks", sys.executable]
    done = subprocess.run(
        [*argv, "--samples", "2", "--output", str(output)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(output.read_text())
    names = [result["name"] for result in results]
    for title in HERE:
        unmatched = f"{title}: tool and model call, no match"
        assert [name for name in names if name.startswith(f"{title}: ")] == [
            *(unmatched, unmatched),
            f"{title}: the same, one in-process hook",
            f"{title}: a turn of 8 of them",
        ]
    if find_spec("hookline.adapters.claude_agent"):
        assert [name for name in names if name.startswith("Claude Agent SDK: ")] == [
            "Claude Agent SDK: Pre- and PostToolUse, no match",
            "Claude Agent SDK: the same, one in-process hook",
        ]
    (posted,) = [result for result in results if result["name"] == "one http hook on loopback"]
    assert posted["target"] == 2
    baselines = {result["baseline_name"] for result in results}
    assert all("without hookline" in name or "does nothing" in name for name in baselines)
    assert all(name in done.stdout for name in names)
    assert "≤ +50" in done.stdout
