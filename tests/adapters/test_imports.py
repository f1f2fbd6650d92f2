"""What importing brings with it, each time in a fresh interpreter."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SDKS = {"anthropic", "google.genai", "openai"}
# What each adapter may bring along.
OWN = {
    "langchain": {"langchain", "langchain_core", "langgraph"},
    "pydantic_ai": {"pydantic_ai"},
    "openai_agents": {"agents"},
    # Its contents are those of google-genai, which it loads when it needs them.
    "adk": {"google.adk", "google.genai"},
    "claude_agent": {"claude_agent_sdk"},
    "strands": {"strands"},
    "genai": {"google.genai"},
}
FRAMEWORKS = SDKS.union(*OWN.values())
ADAPTERS = [name for name in OWN if find_spec(f"hookline.adapters.{name}") is not None]


def run_python(code: str, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def frameworks_loaded_by(*modules: str) -> set[str]:
    code = f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    return FRAMEWORKS.intersection(json.loads(done.stdout))


def test_importing_hookline_and_what_adapters_share_loads_no_framework() -> None:
    shared = ("hookline", "hookline.adapters.steps")
    assert frameworks_loaded_by(*shared, "hookline.hooks", "hookline.calls.model") == set()


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_loads_its_own_framework_alone(name: str) -> None:
    loaded = frameworks_loaded_by(f"hookline.adapters.{name}")
    assert loaded - OWN[name] <= frameworks_loaded_by(*OWN[name]), "a framework of another adapter"
    assert loaded & OWN[name]


def check_version(tmp_path: Path, installed: str | None) -> "subprocess.CompletedProcess[str]":
    """What importing an adapter says of a release of its framework."""
    if installed is not None:
        metadata = tmp_path / f"frame-{installed}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: frame\nVersion: {installed}\n")
    call = "check_version('frame', 'fr', '1.4', '2')"
    code = f"from hookline.adapters.conversations import check_version; {call}"
    return run_python(code, tmp_path)


@pytest.mark.parametrize(("installed", "found"), [("1.3.9", "1.3.9"), (None, "none")])
def test_a_framework_too_old_or_missing_is_refused_in_one_sentence(
    tmp_path: Path, installed: str | None, found: str
) -> None:
    done = check_version(tmp_path, installed)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: hookline's adapter needs frame 1.4 or newer, but {found} is installed; "
        "run pip install 'hookline[fr]'"
    )
    assert "During handling" not in done.stderr


@pytest.mark.parametrize("installed", ["2", "2.0.0"])
def test_a_framework_that_is_too_new_is_warned_of_in_one_sentence(
    tmp_path: Path, installed: str
) -> None:
    done = check_version(tmp_path, installed)
    assert done.returncode == 0
    assert done.stderr == (
        "hookline's adapter was tested with frame 1.4 up to 2 (exclusive), but "
        f"{installed} is installed; check that your hooks still run\n"
    )


@pytest.mark.parametrize("installed", ["1.4", "1.4.0", "1.4.0rc1", "1.99.3"])
def test_a_framework_in_the_tested_range_is_imported_silently(
    tmp_path: Path, installed: str
) -> None:
    done = check_version(tmp_path, installed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
