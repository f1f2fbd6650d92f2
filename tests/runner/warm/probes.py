"""Scripts that look at everything a script can look at, by the name of what they look at."""

PROBES: dict[str, str] = {
    "output": """
import sys
print("ü→", end="")
sys.stderr.write("e")
sys.stdout.buffer.write(b"b")
""",
    "argv": "import sys; print(sys.argv, sys.orig_argv if hasattr(sys, 'orig_argv') else None)",
    "path": "import sys; print(sys.path, sorted(sys.path_importer_cache))",
    "main module": """
import sys
print(list(globals()), __name__, __file__, __spec__, __package__, __doc__, __builtins__)
print(type(__loader__).__name__, sys.modules["__main__"].__dict__ is globals())
""",
    "interpreter": "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sys.flags)",
    "limits": "import sys; print(sys.getrecursionlimit(), sys.getswitchinterval())",
    "directory": "import os; print(os.getcwd(), os.listdir('.') != [])",
    "environment": """
import os, posix, subprocess
print(list(os.environ.items()), list(os.environb.items()), posix.environ == os.environb)
print(subprocess.run(["env"], capture_output=True).stdout)
""",
    "environment changed": """
import os, subprocess
os.environ["ADDED"] = "x"
del os.environ["PATH"]
print(subprocess.run(["/usr/bin/env"], capture_output=True).stdout)
""",
    "umask": "import os; print(os.umask(0))",
    "signals": "import signal; print([signal.getsignal(n) for n in range(1, 32)])",
    "blocked signals": "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "process group": "import os; print(os.getpid() == os.getpgrp() == os.getsid(0))",
    "streams": """
import sys
for stream in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__):
    print(stream, stream.fileno(), stream.line_buffering, stream.write_through, stream.errors)
    print(stream.seekable(), stream.isatty(), stream.closed, stream.newlines, stream.buffer)
    print(getattr(stream.buffer, "raw", None))
""",
    "warnings": "import sys, warnings; print(warnings.filters, sys.warnoptions)",
    "modules": "import json, re, sys; print(sorted(sys.modules))",
    "modules not imported": "import sys; print(sorted(sys.modules))",
    "frames": """
import inspect, sys, traceback
print(sys._getframe().f_back, len(inspect.stack()), sys._getframe().f_code)
traceback.print_stack()
""",
    "depth": """
def deeper(n):
    try:
        return deeper(n + 1)
    except RecursionError:
        return n
print(deeper(0))
""",
    "collector": """
import gc
print(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.callbacks, gc.garbage)
""",
    "hooks": "import sys; print(sys.excepthook, sys.unraisablehook, sys.meta_path)",
    "codes": "import sys; sys.exit(int(sys.stdin.read() or 3))",
    "code zero": "import sys; sys.exit(0)",
    "code none": "import sys; sys.exit()",
    "code text": "import sys; sys.exit('bye')",
    "code too large": "import sys; sys.exit(256 + 7)",
    "code negative": "import sys; sys.exit(-1)",
    "code of exit": "exit(4)",
    "code of a subclass": "class Mine(SystemExit): pass\nraise Mine(9)",
    "code read": """
try:
    raise SystemExit(5)
except SystemExit as error:
    print(error.code, SystemExit.code)
""",
    "code read at exit": """
import atexit, sys
def last():
    try:
        raise SystemExit(5)
    except SystemExit as error:
        print(error.code)
atexit.register(last)
sys.exit(3)
""",
    "code without a file": "del __file__\nglobals().pop('__cached__', 0)\nraise SystemExit(3)",
    "abrupt end": "import os; print('lost'); os._exit(6)",
    "killed": "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupted": "import os\nos.kill(os.getpid(), 2)\nfor _ in range(9): pass",
    "keyboard interrupt": "raise KeyboardInterrupt('x')",
    "aborted": "import os; os.abort()",
    "exception": """
def inner(value):
    return value / 0
def outer():
    inner(1)
outer()
""",
    "chained exception": """
try:
    {}["a"]
except KeyError as error:
    raise ValueError("two\\nlines") from error
""",
    "exception of many": "import json\njson.loads('{')",
    "exception that cannot be shown": """
class Odd(Exception):
    def __str__(self):
        raise ValueError
raise Odd
""",
    "own hook for exceptions": """
import sys
sys.excepthook = lambda kind, value, trace: print("hook", kind, value)
1 / 0
""",
    "hook that fails": "import sys\nsys.excepthook = lambda *a: 1 / 0\n{}['x']",
    "hook that exits": "import sys\nsys.excepthook = lambda *a: sys.exit(8)\n{}['x']",
    "no syntax": "def f(:\n",
    "doubtful syntax": "print('\\d')\nprint(1 is 1)\n",
    "null in source": "x = 1\0",
    "other encoding": "# -*- coding: latin-1 -*-\nprint('fine')",
    "closing": """
import atexit, json, logging, threading, time
atexit.register(print, "first registered")
atexit.register(print, "second registered")
def slow():
    time.sleep(0.05)
    print("thread done")
threading.Thread(target=slow).start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("main done")
""",
    "failing at exit": "import atexit\natexit.register(lambda: 1 / 0)\natexit.register(print, 'x')",
    "objects that speak": """
class Speaking:
    def __del__(self):
        print("gone")
kept = Speaking()
""",
    "objects that speak on exit": """
import sys
class Speaking(int):
    __slots__ = ()
    def __del__(self):
        print("gone")
kept = Speaking()
sys.exit(3)
""",
    "generator under way": """
def run():
    try:
        yield
    finally:
        print("closed")
kept = run()
next(kept)
""",
    "file not closed": """
out = open("out.txt", "w")
out.write("written")
import os
print(os.path.getsize("out.txt"))
""",
    "temporary file": """
import tempfile
kept = tempfile.NamedTemporaryFile(dir=".")
folder = tempfile.TemporaryDirectory(dir=".")
""",
    "database": """
import sqlite3
kept = sqlite3.connect("data.db")
kept.execute("pragma journal_mode = wal")
kept.execute("create table if not exists t (a)")
kept.commit()
""",
    "weak references": """
import weakref
class Thing: pass
thing = Thing()
kept = weakref.ref(thing, lambda _: print("went"))
finalizer = weakref.finalize(thing, print, "finalized")
""",
    "standard output closed": "import os; os.close(1); print('x')",
    "standard output closed in order": "import sys; print('x'); sys.stdout.close()",
    "standard output replaced": "import io, sys; sys.stdout = io.StringIO(); print('x')",
    "standard error closed": "import os; os.close(2); 1 / 0",
    "fork": """
import os
child = os.fork()
print("child" if child == 0 else os.waitpid(child, 0)[1], flush=True)
raise SystemExit(7 if child == 0 else 0)
""",
    "exec": "import os; os.execvp('sh', ['sh', '-c', 'echo executed; exit 5'])",
    "subprocess": "import subprocess; print(subprocess.run(['sh', '-c', 'exit 3']).returncode)",
    "pool of processes": """
import multiprocessing
def double(x):
    return 2 * x
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(double, [1, 2]))
""",
    "event loop": "import asyncio\nasync def main(): print('in')\nasyncio.run(main())",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
import threading
with ThreadPoolExecutor() as pool:
    print(list(pool.map(abs, [-1, -2])))
print(threading.main_thread() is threading.current_thread(), threading.active_count())
""",
    "exit in a thread": "import sys, threading\nthreading.Thread(target=sys.exit).start()",
    "standard input": "import sys; print(sys.stdin.readline(), sys.stdin.read(2))",
    "input": "print(input(), input('prompt'))",
    "input twice": "import sys; print(len(sys.stdin.buffer.read()), sys.stdin.read())",
    "missing module": "import json, no_such_module_anywhere",
    "own module": "import neighbour; print(neighbour.__file__, neighbour.ARGV)",
    "own module that fails": "import failing",
    "own module in place of another": "import json, queue; print(queue.OWN, json.dumps(1))",
    "dataclasses": """
from dataclasses import dataclass
@dataclass
class A:
    x: int
print(A(1))
""",
    "logging": "import logging; logging.warning('careful'); logging.getLogger('a').error('b')",
    "future": "from __future__ import annotations\ndef f(x: Missing): pass\nprint(f)",
    "time zone": "import time; print(time.tzname, time.localtime(0))",
    "locale": "import locale; print(locale.getpreferredencoding(), locale.getlocale())",
    "memory map": "import mmap; m = mmap.mmap(-1, 10); m.write(b'x'); print(len(m))",
    "cleared modules": "import sys; sys.modules.clear()",
    "cleared names": "globals().clear()",
    "command line": """
import os
if os.path.exists("/proc/self/cmdline"):
    print(open("/proc/self/cmdline", "rb").read(), os.readlink("/proc/self/exe"))
""",
    "resources": "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))",
    "annotations": "x: int = 1\nprint(__annotations__)",
}

NEIGHBOURS = {
    "neighbour.py": "import sys\nARGV = list(sys.argv)\nprint('imported')\n",
    "failing.py": "def f():\n    raise LookupError('own')\nf()\n",
}
