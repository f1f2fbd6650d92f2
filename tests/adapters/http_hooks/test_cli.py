"""An http hook on the command line: fired, recorded and tested like any other."""

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.adapters.http_hooks.asked import answer
from tests.adapters.mcp_http.rawserver import RawServer

SECRET = "hush-hush-hush-1"


async def hookline(directory: Path, *words: str) -> tuple[int, str]:
    home = str(directory / "home")
    places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), home)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hookline", *words),
        cwd=directory,
        env={**os.environ, **places, "HOOK_TOKEN": SECRET, "HOOKLINE_TRACE": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    assert SECRET.encode() not in stdout + stderr
    return process.returncode or 0, stdout.decode()


async def test_it_is_fired_and_recorded_without_its_secrets(tmp_path: Path) -> None:
    hook = {"type": "http", "name": "guard", "headers": {"Authorization": "$HOOK_TOKEN"}}
    settings = tmp_path / "home" / "hookline" / "settings.json"
    settings.parent.mkdir(parents=True)
    async with RawServer(answer({"decision": "deny", "reason": f"saw {SECRET}"})) as server:
        hook |= {"url": server.url, "allowedEnvVars": ["HOOK_TOKEN"]}
        settings.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
        fired = ("fire", "BeforeTool", "--tool", "read", "--tool-input", "{}", "--json")
        code, printed = await hookline(tmp_path, *fired)
    (result,) = json.loads(printed)["results"]
    assert (code, result["type"], result["success"]) == (2, "http", True)
    assert result["output"]["reason"] == "saw [Authorization: HOOK_TOKEN hidden]"
    assert server.requests[0].headers["authorization"] == SECRET
    _, traced = await hookline(tmp_path, "trace", "--json")
    assert "guard" in traced
    records = list((tmp_path / "home").rglob("trace.jsonl"))
    assert records
    assert all(SECRET not in record.read_text() for record in records)
