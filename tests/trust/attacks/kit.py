"""A project under attack: a person reviews it, the attacker changes it, an event is fired.

Texts of files, commands and variables may hold ``@MARK@`` (the file that only the attacker's code
creates), ``@PROJECT@`` and ``@OUTSIDE@`` (a folder that is not the project's).
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hookline import Hooks
from hookline.cli import main
from hookline.pipeline.answer import Answer
from tests.cli.command import Done

# What an attacker does behind the review's back: writes the attacker's code to this file, gives
# files these texts (None: removes one), or does as it pleases.
Change: TypeAlias = "str | Mapping[str, str | None] | Callable[[Scene], object]"

PASSWD_HOME = "HOOKLINE_TEST_PASSWD_HOME"
# The installed command, for a user whose home the passwd file has elsewhere.
_COMMAND = f"""
import os, pwd, sys
sys.argv[0] = "hookline"
user = pwd.struct_passwd(
    ("tester", "x", os.getuid(), os.getgid(), "", os.environ["{PASSWD_HOME}"], "/bin/sh")
)
pwd.getpwuid = pwd.getpwnam = lambda _: user
from hookline.cli import main
sys.exit(main())
"""
LAUNCH = (sys.executable, "-c", _COMMAND)
REASON = "denied by the reviewed script"
# The reviewed scripts deny, so that a guard that was lost cannot look like one that allows.
_DENIAL = {
    "sh": f"#!/bin/sh\necho '{REASON}' >&2\nexit 2\n",
    "py": f"#!/usr/bin/env python3\nimport json, sys\n"
    f"sys.exit(sys.stderr.write('{REASON}') and 2)\n",
    "js": f"#!/usr/bin/env node\nconsole.error('{REASON}'); process.exit(2);\n",
    "pl": f"#!/usr/bin/perl\nprint STDERR '{REASON}'; exit 2;\n",
    "rb": f"#!/usr/bin/env ruby\nwarn '{REASON}'; exit 2\n",
}
_DENIAL |= {"mjs": _DENIAL["js"], "cjs": _DENIAL["js"], "ts": _DENIAL["js"], "": _DENIAL["sh"]}
_CODE = {
    "sh": "#!/bin/sh\ntouch '@MARK@'\n",
    "py": "#!/usr/bin/env python3\nopen('@MARK@', 'w').close()\n",
    "js": "#!/usr/bin/env node\nrequire('fs').writeFileSync('@MARK@', '');\n",
    "mjs": "import fs from 'node:fs';\nfs.writeFileSync('@MARK@', '');\n",
    "pl": "#!/usr/bin/perl\nopen(my $mark, '>', '@MARK@'); 1;\n",
    "rb": "#!/usr/bin/env ruby\nFile.write('@MARK@', '')\n",
    "awk": "BEGIN { system(\"touch '@MARK@'\") }\n",
    "sed": "1e touch '@MARK@'\n",
    "mk": "guard:\n\ttouch '@MARK@'\n",
    "vim": "call system(\"touch '@MARK@'\")\nqa!\n",
    "gdb": "shell touch '@MARK@'\n",
    "sql": ".shell touch '@MARK@'\n",
    "cmake": 'execute_process(COMMAND touch "@MARK@")\n',
    "tcl": "exec touch {@MARK@}\n",
}
_CODE |= {"cjs": _CODE["js"], "ts": _CODE["js"], "pm": _CODE["pl"], "": _CODE["sh"]}
_PROGRAMS = frozenset({"", "sh", "py", "js", "pl", "rb", "mjs"})


def code_for(name: str) -> str:
    """Return the attacker's code in the language that a file's name tells."""
    return _CODE[_suffix(name)]


def denial_for(name: str) -> str:
    """Return a reviewed script that denies, in the language that a file's name tells."""
    return _DENIAL[_suffix(name)]


def _suffix(name: str) -> str:
    return Path(name).suffix[1:]


class Scene:
    """One project, what is outside it, and the mark that the attacker's code would leave."""

    def __init__(self, root: Path, name: str = "project") -> None:
        self.root = root
        self.path = root / name
        self.outside = root / "outside"
        self.mark = root / "owned"
        for folder in (self.path, self.outside):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def store(self) -> Path:
        """The folder of the reviews, where the variables lead."""
        state = os.environ.get("HOOKLINE_STATE_DIR")
        base = Path(state) if state else Path(os.environ["XDG_STATE_HOME"], "hookline")
        return base / "reviews"

    def text(self, template: str) -> str:
        for word, path in (
            ("@MARK@", self.mark),
            ("@PROJECT@", self.path),
            ("@OUTSIDE@", self.outside),
        ):
            template = template.replace(word, str(path))
        return template

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project; what has a language of programs is executable."""
        path = self.path / self.text(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        # A new file in the place of a link, never what the link leads to.
        path.unlink(missing_ok=True)
        path.write_text(self.text(text), encoding="utf-8", newline="")
        if _suffix(name) in _PROGRAMS:
            path.chmod(0o755)
        return path

    def link(self, name: str, target: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(self.text(target))

    def settings(self, *hooks: Mapping[str, Any], **more: Any) -> None:
        """Write the project's settings: hooks before every tool, and further keys."""
        definitions = [{"hooks": list(hooks)}]
        data = {"hooks": {"BeforeTool": definitions, **more.pop("in_hooks", {})}, **more}
        self.write(".hookline/settings.json", json.dumps(data, indent=1))

    def strike(self, change: Change) -> None:
        """Do what the attacker does."""
        if callable(change):
            change(self)
        elif isinstance(change, str):
            self.write(change, code_for(change))
        else:
            for name, text in change.items():
                if text is None:
                    (self.path / name).unlink()
                else:
                    self.write(name, text)


def command_hook(command: str, *, guard: bool = True, **fields: Any) -> dict[str, Any]:
    """An entry called ``guard``, which fails closed unless it is an ordinary hook."""
    on_failure = "block" if guard else "allow"
    entry = {"type": "command", "command": command, "name": "guard", "timeout": 10_000}
    return entry | {"onFailure": on_failure} | fields


def call(*arguments: str) -> Done:
    """Run the command line in this process, as tables of many cases want it."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    return Done(status, out.getvalue(), err.getvalue())


def run(*arguments: str, cwd: Path, **environment: str) -> Done:
    """Run the command line in a process of its own."""
    done = subprocess.run(
        [*LAUNCH, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=50,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def look(where: Path) -> list[dict[str, Any]]:
    """Return the hooks as ``hookline trust`` shows them, before anybody decides."""
    hooks: list[dict[str, Any]] = call("trust", "--json", "--cwd", str(where)).document["hooks"]
    return hooks


def review(where: Path, *, accept: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Review a project as a person who reads the screen and accepts what is open, by name."""
    hooks = look(where)
    if accept is None:
        accept = [hook["name"] for hook in hooks if hook["open"]]
    words = [word for name in accept for word in ("--accept-open", name)]
    done = call("trust", "--yes", "--json", *words, "--cwd", str(where))
    assert (done.status, done.document["trusted"]) == (0, True), done
    return hooks


def fire(where: Path, **options: Any) -> Answer:
    """Return what a new process would answer to a call of the tool ``run``."""
    with Hooks.load(where, **options) as hooks:
        return hooks.sync.before_tool("run", {"path": "x"})


def is_as_reviewed(answer: Answer) -> bool:
    """True if a guard gave the answer of the script that was reviewed."""
    return answer.blocked and REASON in (answer.reason or "")
