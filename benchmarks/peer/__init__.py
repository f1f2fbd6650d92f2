"""Drives the npm package that runs the same hooks, in a process of its own, sample by sample."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from benchmarks import fixtures
from benchmarks.driver import Driver
from benchmarks.hooks import Scripts
from benchmarks.sampling import Group, Measurement, Workload

PACKAGE = "@google/gemini-cli-core"
VERSION = "0.61.0"
_DRIVER = Path(__file__).with_name("driver.mjs")
_ONESHOT = Path(__file__).with_name("oneshot.mjs")


class Peer(Driver):
    """The package and the Node that runs it."""

    def __init__(self, node: str, package: Path, scripts: Scripts) -> None:
        given = scripts.directory / "peer.json"
        work = scripts.directory / "peer"
        work.mkdir()
        self._oneshot = [node, str(_ONESHOT), str(package), str(work)]
        main = (package / "dist" / "index.js").as_uri()
        self.import_command = [node, "--input-type=module", "-e", f"await import('{main}')"]
        node_version = subprocess.check_output([node, "--version"], text=True).strip()
        self.version = f"Node {node_version} with {PACKAGE} {VERSION}"
        workloads = {**fixtures.for_the_peer(), "commands": scripts.for_the_peer()}
        given.write_text(json.dumps(workloads), encoding="utf-8")
        super().__init__(
            [node, str(_DRIVER), str(package), str(work), str(given)],
            directory=work,
            # Otherwise it would read, and might write, the user's configuration.
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(work)},
        )

    def oneshot_command(self, hook: str, tool_name: str, tool_input: dict[str, Any]) -> list[str]:
        """The command that runs one hook on one tool call and ends with its decision."""
        return [*self._oneshot, hook, tool_name, json.dumps(tool_input)]


def find_peer(scripts: Scripts, *, say: Callable[[str], None]) -> Peer | None:
    """The peer, installed if necessary; if that fails, say so and return None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        say("no peer: node and npm are not on the PATH, so only our own side is measured\n")
        return None
    home = os.environ.get("HOOKLINE_BENCH_PEER") or platformdirs.user_cache_dir("hookline-bench")
    directory = Path(home) / VERSION
    if not directory.exists():
        say(f"installing {PACKAGE} {VERSION} into {directory}\n")
        try:
            _install(npm, directory)
        except subprocess.CalledProcessError as error:
            say(f"no peer: {error}\n")
            return None
    return Peer(node, directory / "node_modules" / PACKAGE, scripts)


def _install(npm: str, directory: Path) -> None:
    # It gets its final name when complete, so that an interrupted install starts again.
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "package.json").write_text('{"private": true}')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    lean = ["--ignore-scripts", "--omit=optional"]
    argv = [npm, "install", *quiet, *lean, f"{PACKAGE}@{VERSION}"]
    subprocess.run(argv, cwd=partial, check=True, stdout=subprocess.DEVNULL)
    partial.rename(directory)


def beside_peer(group: Group, peer: Peer) -> Group:
    """The group with a second line for each workload that the peer has too."""
    measurements: list[Measurement] = []
    theirs: dict[str, Workload] = {}
    for ours in group.measurements:
        measurements.append(ours)
        if ours.peer is not None:
            # Two lines may have the same baseline, which is then sampled once.
            workload = theirs.setdefault(ours.peer, Workload("peer", peer.running(ours.peer)))
            measurements.append(
                msgspec.structs.replace(ours, baseline=workload, target=ours.peer_target)
            )
    return msgspec.structs.replace(group, measurements=measurements)
