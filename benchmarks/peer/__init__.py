"""The npm package that runs the same hooks, driven in a process of its own, sample by sample."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, cast

import msgspec
import platformdirs

from benchmarks import fixtures
from benchmarks.sampling import Group, Measurement, Run, Workload

PACKAGE = "@google/gemini-cli-core"
VERSION = "0.61.0"
_DRIVER = Path(__file__).with_name("driver.mjs")


class Peer:
    """The package and the Node that runs it; as a context manager, its driver's lifetime."""

    def __init__(self, node: str, package: Path, scratch: Path) -> None:
        self._argv = [node, str(_DRIVER), str(package), str(scratch)]
        main = (package / "dist" / "index.js").as_uri()
        self.import_command = [node, "--input-type=module", "-e", f"await import('{main}')"]
        self._scratch = scratch
        self._process: subprocess.Popen[str] | None = None
        node_version = subprocess.check_output([node, "--version"], text=True).strip()
        self.version = f"Node {node_version} with {PACKAGE} {VERSION}"

    def __enter__(self) -> "Peer":
        given = self._scratch / "fixtures.json"
        given.write_text(json.dumps(fixtures.for_the_peer()), encoding="utf-8")
        self._process = subprocess.Popen(
            [*self._argv, str(given)],
            # Its configuration would otherwise read, and may write, that of the user.
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self._scratch)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._answer() != "ready":
            raise RuntimeError("the peer's driver did not start; its error is above")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def running(self, workload: str) -> Run:
        """The time the driver takes for one of its workloads, by its own clock."""

        def run(iterations: int) -> float:
            self._ask(f"{workload} {iterations}\n")
            return int(self._answer()) / 1e9

        return run

    def _ask(self, line: str) -> None:
        assert self._process is not None
        stdin = cast(IO[str], self._process.stdin)
        stdin.write(line)
        stdin.flush()

    def _answer(self) -> str:
        assert self._process is not None
        return cast(IO[str], self._process.stdout).readline().strip()


def find_peer(scratch: Path, *, say: Callable[[str], None]) -> Peer | None:
    """The peer, installed if need be; None, and a word about it, where it cannot be."""
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
    work = scratch / "peer"
    work.mkdir()
    return Peer(node, directory / "node_modules" / PACKAGE, work)


def _install(npm: str, directory: Path) -> None:
    # Under its final name only when it is complete: an interrupted install is begun anew.
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
    """The group with a second line for everything the peer can do too."""
    measurements: list[Measurement] = []
    for ours in group.measurements:
        measurements.append(ours)
        if ours.peer is not None:
            theirs = Workload("peer", peer.running(ours.peer))
            measurements.append(
                msgspec.structs.replace(ours, baseline=theirs, target=ours.peer_target)
            )
    return Group(group.samples, measurements)
