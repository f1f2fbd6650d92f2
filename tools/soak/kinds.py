"""The hooks of the soak: what each does, how often it is drawn, and its expected result."""

import asyncio
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hookline.contract import HookSystem
from hookline.wire.hooks import CommandHook, HookFunction
from hookline.wire.results import FailedKind, HookExecutionResult

Json: TypeAlias = dict[str, Any]

# Seconds: short for hooks that use up their timeout, since thousands of them do.
SHORT = 0.15
AMPLE = 15.0
MAX_STDOUT = 1024 * 1024
BIG = 500_000
BACKGROUND_LOG = "background.log"

_MARK = r"""mark=$(grep -o -m1 'mark-[0-9]*' | head -n1); printf '{"reason":"%s"}' "$mark" """
_PYTHON = """\
import json
import sys

print(json.dumps({"reason": json.load(sys.stdin)["tool_input"]["mark"]}))
"""


class Kind(NamedTuple):
    """A kind of hook. ``failed`` is that of its result; ``answer`` makes its output from a mark."""

    name: str
    hook: Mapping[str, Any] | HookFunction
    weight: int = 4
    timeout: float = AMPLE
    failed: FailedKind | None = None
    answer: Callable[[str], Json] | None = None
    sequential: bool = False
    # It fails closed: its event must be blocked, even if the hook fails.
    guards: bool = False

    @property
    def is_command(self) -> bool:
        return isinstance(self.hook, Mapping)

    def is_right(self, result: HookExecutionResult, mark: str) -> bool:
        """True if a result is what this hook returns when nothing interferes."""
        if result.failed != self.failed:
            return False
        return self.answer is None or result.output == self.answer(mark)

    def register(self, system: HookSystem) -> None:
        """Register the hook for each tool whose name contains this kind's name as a part."""
        system.register_hook(
            "BeforeTool",
            self.hook,
            matcher=rf"(^|\+){re.escape(self.name)}(\+|$)",
            name=self.name,
            sequential=self.sequential,
            timeout=self.timeout * 1000,
            on_failure="block" if self.guards else "allow",
        )


def kinds(project: Path) -> list[Kind]:
    """Write the scripts below ``project``, and return every kind of hook."""
    _write(project / "mark.sh", f"#!/bin/sh\n{_MARK}\n", mode=0o755)
    return [
        *(*_obliging(), *_python(project), *_odd(project), *_hostile(), *_functions()),
        *_guards(),
    ]


def _write(path: Path, text: str, *, mode: int) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _command(command: str, **fields: Any) -> Json:
    return {"type": "command", "command": command, **fields}


def _says_mark(mark: str) -> Json:
    return {"reason": mark}


def _obliging() -> list[Kind]:
    big = f"""cat >/dev/null; printf '{{"reason":"'; head -c {BIG} /dev/zero | tr '\\0' a"""
    rewritten: Json = {"hookSpecificOutput": {"tool_input": {"rewritten": True}}}
    return [
        Kind(
            "allows",
            _command("""cat >/dev/null; echo '{"decision":"allow"}'"""),
            weight=12,
            answer=lambda _mark: {"decision": "allow"},
        ),
        Kind(
            "blocks",
            _command("echo no >&2; exit 2"),
            weight=8,
            answer=lambda _mark: {"decision": "deny", "reason": "no"},
        ),
        Kind("reads", _command(_MARK), weight=8, answer=_says_mark),
        Kind("direct", _command("./mark.sh"), weight=8, answer=_says_mark),
        Kind("exec", _command("./mark.sh", args=["--strict"]), answer=_says_mark),
        Kind("silent", _command("true")),
        Kind("prints much", _command(f"""{big}; printf '"}}'"""), weight=2, answer=_much),
        Kind(
            "rewrites",
            _command(
                """echo '{"hookSpecificOutput":{"tool_input":{"rewritten":true}}}'""",
            ),
            answer=lambda _mark: rewritten,
        ),
        Kind(
            "scratches",
            _command(
                'file=$(mktemp) && head -c 100000 /dev/zero >"$file" && rm "$file" && cat <<-end\n'
                "end\necho {}"
            ),
            weight=2,
        ),
        Kind("in order", lambda _input: None, weight=10, sequential=True),
    ]


def _much(_mark: str) -> Json:
    return {"reason": "a" * BIG}


def _python(project: Path) -> list[Kind]:
    """Python hooks, cold and warm; the template processes of warm ones are known by name."""
    cold, warm = project / "cold.py", project / "warm.py"
    for script in (cold, warm):
        _write(script, _PYTHON, mode=0o644)
    found = [Kind("python", _command(f"{sys.executable} {cold}"), weight=1, answer=_says_mark)]
    if "warm" in CommandHook.__struct_fields__:
        hook = _command(f"{sys.executable} {warm}", warm=True)
        found.append(Kind("warm", hook, weight=8, answer=_says_mark))
    return found


def _odd(project: Path) -> list[Kind]:
    """Hooks that end soon, but not as they should."""
    _write(project / "unexecutable.sh", "#!/bin/sh\n", mode=0o644)
    left = f"(sleep 0.3; echo alive >>{project}/{BACKGROUND_LOG}) &"
    return [
        Kind("fails", _command("echo broken >&2; exit 3"), failed="exit"),
        Kind("kills itself", _command("kill -TERM $$; sleep 30"), failed="signal"),
        Kind("kills its group", _command("sleep 30 & kill -KILL -$$; wait"), failed="signal"),
        Kind("kills its parent", _command("(kill -KILL $$; sleep 0.2) & wait"), failed="signal"),
        Kind("not found", _command("no-such-program --at all"), failed="exit"),
        Kind("missing", _command("./no-such-file", args=[]), failed="spawn"),
        Kind("unexecutable", _command("./unexecutable.sh", args=[]), failed="spawn"),
        Kind("directory", _command("/", args=[]), failed="spawn"),
        Kind("leaves another", _command(f"{left} echo {{}}")),
        Kind("never reads", _command("sleep 0.05; echo {}")),
        Kind("closes stdin", _command("exec 0<&-; sleep 0.02; echo {}")),
        Kind("closes all", _command("exec 0<&- >&- 2>&-; sleep 0.02")),
        Kind("noisy", _command("head -c 3000000 /dev/zero >&2; exit 2"), weight=1),
    ]


def _hostile() -> list[Kind]:
    """Hooks that have to be killed."""
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    too_slow = {
        "slow": "exec sleep 30",
        "stubborn": stubborn,
        "forks": f"({stubborn}) & ((({stubborn}) & sleep 30) & wait) & wait",
        "stops": "kill -STOP $$; sleep 30",
        "stops all": "(kill -STOP $BASHPID) & trap '' TERM; kill -STOP $$; sleep 30",
        "falls silent": "exec >&- 2>&-; sleep 30",
        "leads astray": "sleep 30 & exec sleep 30",
    }
    floods = {"floods": "yes", "floods on": "trap '' TERM; yes & yes"}
    return [
        *(
            Kind(name, _command(script), weight=1, timeout=SHORT, failed="timeout")
            for name, script in too_slow.items()
        ),
        *(
            Kind(name, _command(script), weight=1, failed="output_limit")
            for name, script in floods.items()
        ),
    ]


def _functions() -> list[Kind]:
    async def waits(given: Json) -> Json:
        await asyncio.sleep(0.01)
        return _says_mark(given["tool_input"]["mark"])

    async def hangs(_given: Json) -> None:
        await asyncio.sleep(30)

    def raises(_given: Json) -> None:
        raise ValueError("broken")

    def is_late(_given: Json) -> None:
        time.sleep(3 * SHORT)

    return [
        Kind("function", lambda given: _says_mark(given["tool_input"]["mark"]), answer=_says_mark),
        Kind("coroutine", waits, answer=_says_mark),
        Kind("raises", raises, failed="error"),
        Kind("hangs", hangs, weight=1, timeout=SHORT, failed="timeout"),
        Kind("is late", is_late, weight=1, timeout=SHORT, failed="timeout"),
    ]


def _guards() -> list[Kind]:
    """Guards that deny, or try to and fail: each of their events must be blocked."""
    garbled = {
        "denies, then logs": """echo '{"decision": "deny"}'; echo '{"reason": 1}'""",
        "garbles": """printf '{"decision": "deny", "reason": "he said "no""}'""",
        "cuts off": """printf '{"decision": "deny", "rea'""",
        "prints a dict": """echo "{'decision': 'deny', 'reason': 'no'}" """,
        "prefixes": """echo "[guard] {'decision': 'deny'}" """,
        "misspells": """echo '{"decison": "deny"}'""",
        "says Deny twice": """echo '{"continue": "false"}'""",
    }
    filtered = """exec > >(sleep 0.1; cat); echo '{"decision": "deny"}'"""
    escaping = {
        "escapes by timeout": "timeout 60 sleep 60; true",
        "escapes by a group": "set -m; sleep 60 & wait",
        "escapes by a session": "setsid sleep 60 & wait",
        "escapes and stays": "(trap '' TERM; setsid sleep 60) & sleep 60",
    }

    def raises(_given: Json) -> None:
        raise RuntimeError("broken")

    def pads(_given: Json) -> Json:
        return {"decision": "deny", "reason": "x" * BIG}

    return [
        Kind("denies", _command("echo no >&2; exit 2"), weight=6, guards=True),
        Kind("denies through a filter", _command(filtered), guards=True),
        Kind("denies at once", lambda _given: {"decision": "deny"}, weight=30, guards=True),
        Kind("pads a denial", pads, weight=4, guards=True),
        Kind("breaks", raises, weight=20, failed="error", guards=True),
        Kind("answers in vain", lambda _given: [1], weight=12, failed="error", guards=True),
        Kind("crashes", _command("exit 1"), weight=6, failed="exit", guards=True),
        Kind("is not there", _command("./nowhere", args=[]), weight=6, failed="spawn", guards=True),
        Kind("overflows", _command("yes"), weight=1, failed="output_limit", guards=True),
        *(
            Kind(name, _command(command), weight=3, failed="malformed", guards=True)
            for name, command in garbled.items()
        ),
        *(
            Kind(name, _command(command), 1, timeout=SHORT, failed="timeout", guards=True)
            for name, command in escaping.items()
        ),
    ]
