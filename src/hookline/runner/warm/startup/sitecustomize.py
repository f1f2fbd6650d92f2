"""Holds an interpreter back just before it would run its script, and lets forks of it go on.

Python imports a module of this name when it has started, before it opens its script; it finds this
one because our directory is first in PYTHONPATH. The interpreter does everything else itself, as it
would without this module: it finds its script, runs it, prints errors and exits with the right
status. So a fork differs from a started process only in what happens here: it gets its streams,
directory and variables from a request, and modules that its script will import are imported
already. Then this module removes itself: the module of this name that would have been found without
it is imported instead.

Of our code only this file and ``ending`` run in such an interpreter, and ``session`` replaces them
in the end: they use only the standard library, of Python 3.8 and later.
"""

import os
import sys

_before = set(sys.modules)

import _signal  # type: ignore[import-not-found]  # noqa: E402  # without the enums of signal
import _socket  # noqa: E402
import _thread  # noqa: E402
import _warnings  # noqa: E402
import gc  # noqa: E402
import select  # noqa: E402
import time  # noqa: E402

import ending  # type: ignore[import-not-found]  # noqa: E402

# A script must find no module imported that it has not imported itself.
for _name in set(sys.modules) - _before:
    del sys.modules[_name]

_STANDARD = os.path.dirname(os.path.abspath(os.__file__))
_RUNNER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SESSION = os.path.join(_RUNNER, "session.py")
# Seconds between two checks that the agent still runs: the socket stays open if a fork of the agent
# has the other end too.
_ATTEND = 0.5
_REQUEST_BYTES = 262_144
# Seconds that the guard has to end the hooks of an agent that is gone.
_GUARD_SECONDS = 0.8
_GUARD_PAUSE = 0.02
# PyCF_ONLY_AST; importing ``ast`` for it would cost time.
_SYNTAX_TREE = 0x400
_DEPRECATION = ("default", None, DeprecationWarning, __name__, 0)


def _serve_forks(task: str) -> None:
    """Wait for requests and fork; returns only in the forks."""
    try:
        kind, idle, agent = task.split(":")
        control = _socket.socket(fileno=0)
        if kind == "probe":
            control.sendall(b"yes")
        else:
            template = _Template(control, float(idle), int(agent))
            template.prepare()
            if template.wait():
                return
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        os._exit(1)
    os._exit(0)


class _Template:
    def __init__(self, control: "_socket.socket", idle: float, agent: int) -> None:
        self._control = control
        self._idle = idle
        # Behind a launcher that did not exec the interpreter, the parent is not the agent.
        self._agent = agent if os.getppid() == agent else None
        self._children: dict[int, _socket.socket] = {}
        self._is_retiring = False
        self._bell = os.pipe()
        self._ending = ending.Ending()

    def prepare(self) -> None:
        """Import what the script will import, and report to the agent."""
        script = sys.argv[0]
        folder = os.path.dirname(os.path.realpath(script))
        trouble, findings = _preload(script, folder)
        # What modules printed must not stay in the buffer, for every fork to print it again.
        if sys.stdout is not None:
            sys.stdout.flush()
        hello = b"".join(
            os.fsencode(item) + b"\0"
            for section in ([trouble] if trouble else [], *findings)
            for item in [*section, ""]
        )
        self._control.sendall(len(hello).to_bytes(4, "big") + hello)
        if trouble:
            os._exit(0)
        if findings[2] and not getattr(sys.flags, "safe_path", False):
            # Cache what can be imported from there, as an import by the script would.
            sys.path_importer_cache[folder] = None
            for hook in sys.path_hooks:
                try:
                    sys.path_importer_cache[folder] = hook(folder)
                    break
                except ImportError:
                    continue
        os.chdir("/")
        gc.collect()

    def wait(self) -> bool:
        """Serve the agent until it is gone or idle for long; returns True in a fork."""
        for end in self._bell:
            os.set_blocking(end, False)
        # A handled signal wakes the template.
        _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
        _signal.set_wakeup_fd(self._bell[1], warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._bell[0], select.POLLIN)
        if self._fork():
            return True
        quiet_since = time.monotonic()
        while self._children or not self._is_retiring:
            ready = [number for number, _ in poll.poll(min(self._idle, _ATTEND) * 1000)]
            if self._bell[0] in ready:
                _try_call(os.read, self._bell[0], 4096)
                while self._children:
                    child, status = os.waitpid(-1, os.WNOHANG)
                    if child == 0:
                        break
                    channel = self._children.pop(child, None)
                    if channel is not None:
                        report = status.to_bytes(4, "big")
                        _try_call(channel.send, report, _socket.MSG_DONTWAIT)
                        channel.close()
            if self._control.fileno() in ready:
                try:
                    commands = self._control.recv(4096)
                except OSError:
                    commands = b""
                if not commands:
                    self._end_orphaned()
                for command in commands:
                    if command == ord("Q"):
                        self._retire()
                    elif not self._is_retiring and self._fork():
                        return True
            if self._agent is not None and os.getppid() != self._agent:
                self._end_orphaned()
            if ready or not all(map(_is_spare, self._children.values())):
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since >= self._idle:
                self._retire()
        return False

    def _fork(self) -> bool:
        """Make one more child; returns True in the child, once it has a request."""
        try:
            theirs, its = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
            # A request must fit in, which it would not on some systems.
            theirs.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, _REQUEST_BYTES)
            its.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVBUF, _REQUEST_BYTES)
            child = os.fork()
        except OSError:
            # Tell the agent that there is one fork less.
            self._control.send(bytes(4))
            return False
        if child != 0:
            theirs.close()
            self._children[child] = its
            return False
        os.setsid()
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        for number in self._bell:
            os.close(number)
        for other in self._children.values():
            other.close()
        self._children.clear()
        rights = theirs.fileno().to_bytes(4, sys.byteorder)
        ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)]
        self._control.sendmsg([os.getpid().to_bytes(4, "big")], ancillary)
        theirs.close()
        # The agent must see the template end even while children run.
        os.dup2(1, self._control.detach())
        # Touches every object, so that their pages are copied before a call waits for it.
        gc.get_objects()
        if not _take_on_request(its):
            os._exit(0)
        self._ending.begin(its.detach())
        return True

    def _retire(self) -> None:
        """Fork no more, and end after the last child."""
        self._is_retiring = True
        for child, channel in self._children.items():
            if _is_spare(channel):
                # From here on the agent cannot send it a request; one already sent is served.
                _try_call(channel.shutdown, _socket.SHUT_RD)
                if not _peek(channel):
                    _try_call(os.kill, child, _signal.SIGKILL)

    def _end_orphaned(self) -> None:
        """End, as the agent is gone: its guard ends the hooks or, without one, this process."""
        self._retire()
        deadline = time.monotonic() + _GUARD_SECONDS
        while self._children:
            for child in list(self._children):
                if os.waitpid(child, os.WNOHANG)[0]:
                    del self._children[child]
            if time.monotonic() > deadline:
                hooks = map(str, self._children)
                argv = [sys.executable, "-I", "-S", _SESSION, *hooks]
                _try_call(os.execv, sys.executable, argv)
                for child in self._children:
                    _try_call(os.killpg, child, _signal.SIGKILL)
                break
            time.sleep(_GUARD_PAUSE)
        os._exit(0)


def _try_call(call: "object", *arguments: object) -> None:
    """Make a call, and ignore it if it fails."""
    try:
        call(*arguments)  # type: ignore[operator]
    except (OSError, ImportError):
        return


def _peek(channel: "_socket.socket") -> "bytes | None":
    try:
        return channel.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _is_spare(channel: "_socket.socket") -> bool:
    # A child that has its request has shut down its reading side.
    return _peek(channel) is None


def _take_on_request(channel: "_socket.socket") -> bool:
    """Take on the streams, directory and variables of a request; returns False if none comes."""
    head, ancillary, _, _ = channel.recvmsg(4, _socket.CMSG_SPACE(12))
    if len(head) < 4 or not ancillary:
        return False
    rights = ancillary[0][2]
    numbers = [int.from_bytes(rights[at : at + 4], sys.byteorder) for at in (0, 4, 8)]
    size, parts = int.from_bytes(head, "big"), []
    while size:
        part = channel.recv(size)
        if not part:
            return False
        parts.append(part)
        size -= len(part)
    channel.shutdown(_socket.SHUT_RD)
    for stream, number in enumerate(numbers):
        os.dup2(number, stream)
    for number in numbers:
        os.close(number)
    directory, *entries = b"".join(parts).split(b"\0")
    os.chdir(directory)
    _set_environment({name: value for name, _, value in (e.partition(b"=") for e in entries)})
    logging = sys.modules.get("logging")
    if logging is not None:
        now = time.time_ns() if sys.version_info >= (3, 13) else time.time()
        logging._startTime = now  # type: ignore[attr-defined]
    return True


def _set_environment(variables: "dict[bytes, bytes]") -> None:
    current: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
    pairs = zip(current.items(), variables.items())  # noqa: B905  # nor has 3.8 such a parameter
    same = next((at for at, (old, new) in enumerate(pairs) if old != new), None)
    if same is None:
        same = min(len(current), len(variables))
    # In the given order, as in a process that was started with them.
    for name in [*current][same:]:
        os.unsetenv(name)
    for name in [*variables][same:]:
        os.putenv(name, variables[name])
    for copy in (current, sys.modules["posix"].environ):
        copy.clear()
        copy.update(variables)


class _Variables(dict):  # type: ignore[type-arg]
    """The environment while modules are imported; records what they read and change."""

    def __init__(self, variables: "dict[bytes, bytes]") -> None:
        super().__init__(variables)
        self.read: set[bytes] = set()
        self.is_changed = False
        self.is_listed = False

    def __getitem__(self, name: bytes) -> bytes:
        self.read.add(name)
        return dict.__getitem__(self, name)  # type: ignore[no-any-return]

    def __setitem__(self, name: bytes, value: bytes) -> None:
        self.is_changed = True
        dict.__setitem__(self, name, value)

    def __delitem__(self, name: bytes) -> None:
        self.is_changed = True
        dict.__delitem__(self, name)

    def __iter__(self) -> "object":  # type: ignore[override]
        self.is_listed = True
        return dict.__iter__(self)


def _preload(script: str, folder: str) -> "tuple[str | None, tuple[list[str], ...]]":
    """Import what a script in a folder will; return why calls cannot share that, None if they can.

    Also returned: the variables that were read, the directories that come first, the modules, and
    their files.
    """
    wanted = _find_imports(script)
    # If warnings are on, the script itself must import a module to be warned about it.
    if sys.warnoptions or sys.flags.dev_mode or not wanted:
        return _check_threads(), ([], [], [], [])
    at = sys.path.index(_STANDARD) if _STANDARD in sys.path else len(sys.path)
    directories = [folder, *filter(os.path.isdir, sys.path[:at])]
    own = {name for directory in directories for name in _list_modules(directory)}
    before, open_before = set(sys.modules), len(os.listdir("/dev/fd"))
    data = os.environ._data  # type: ignore[attr-defined]
    variables = _Variables(data)
    os.environ._data = os.environb._data = variables  # type: ignore[attr-defined]
    # A script gets warnings about deprecated modules that it imports, so these must show here.
    _warnings.filters.insert(0, _DEPRECATION)
    try:
        for name, members in wanted:
            if name.partition(".")[0] in own:
                break
            __import__(name, None, None, members, 0)
    except BaseException:
        pass  # The script will raise the same error.
    finally:
        os.environ._data = os.environb._data = data  # type: ignore[attr-defined]
    _warnings.filters.remove(_DEPRECATION)

    new = set(sys.modules) - before
    names = {name.partition(".")[0] for name in new}
    files = []
    for name in new:
        file = getattr(sys.modules[name], "__file__", None)
        inside = isinstance(file, str) and file.startswith(_STANDARD + os.sep)
        if isinstance(file, str) and not (inside and "-packages" + os.sep not in file):
            files.append(file)
    read = sorted(map(os.fsdecode, variables.read))
    random = sys.modules.get("random")
    # A generator of a module's own would give every call the same numbers; Python seeds the default
    # one again after a fork, and SystemRandom needs no seed.
    has_generator = random is not None and any(
        thing is not random._inst and not isinstance(thing, random.SystemRandom)
        for thing in [each for each in gc.get_objects() if isinstance(each, random.Random)]
    )
    if names & own:
        trouble: str | None = "modules beside it take the place of others"
    elif variables.is_changed or variables.is_listed:
        trouble = "importing its modules changes or copies the environment"
    elif len(os.listdir("/dev/fd")) != open_before:
        trouble = "importing its modules opens files and leaves them open"
    elif has_generator:
        trouble = "importing its modules prepares random numbers"
    else:
        trouble = _check_threads()
    return trouble, (read, directories, sorted(names), sorted(files))


def _check_threads() -> "str | None":
    """Return a problem if there are other threads: a fork does not have them."""
    try:
        tasks = len(os.listdir("/proc/self/task"))
    except OSError:
        tasks = 1
    return "its interpreter has more than one thread" if _thread._count() or tasks > 1 else None


def _find_imports(script: str) -> "list[tuple[str, tuple[str, ...]]]":
    """Return the imports at the top of a script, before other code could affect them."""
    # The interpreter will print what is wrong with the script, and its warnings.
    stderr, sys.stderr = sys.stderr, None
    try:
        with open(script, "rb") as file:
            tree = compile(file.read(), script, "exec", _SYNTAX_TREE, True)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    finally:
        sys.stderr = stderr
    imports: list[tuple[str, tuple[str, ...]]] = []
    for node in getattr(tree, "body", ()):
        kind, value = type(node).__name__, type(getattr(node, "value", None)).__name__
        if kind == "Import":
            imports += [(alias.name, ()) for alias in node.names]
        elif kind == "ImportFrom" and not node.level:
            imports.append((node.module, tuple(alias.name for alias in node.names)))
        # A docstring or a constant cannot affect imports after it.
        elif kind not in ("Expr", "Assign") or value not in ("Constant", "Str"):
            break
    return imports


def _list_modules(directory: str) -> "set[str]":
    """Return the names of modules that could be found in a directory."""
    try:
        return {name.partition(".")[0] for name in os.listdir(directory)}
    except OSError:
        return set()


_here = os.path.dirname(os.path.abspath(__file__))
_task = os.environ.pop("HOOKLINE_WARM", None)
# Assigned, not deleted and added: a script may see the order.
os.environ["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")[len(_here) + 1 :]
if not os.environ["PYTHONPATH"]:
    del os.environ["PYTHONPATH"]

if _task is not None and (sys.version_info < (3, 8) or sys.implementation.name != "cpython"):
    os.write(0, b"only CPython 3.8 and later can be kept warm")
    os._exit(0)

sys.path[:] = [_entry for _entry in sys.path if _entry != _here]
sys.path_importer_cache.pop(_here, None)

_other = any(_finder.find_spec("sitecustomize", None) for _finder in sys.meta_path)

if _task is not None:
    _serve_forks(_task)

del sys.modules["sitecustomize"]
if not _other:
    raise ImportError("there is no module of this name", name="sitecustomize")
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
