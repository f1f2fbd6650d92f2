"""A template is not used for anything but what would be started now."""

import asyncio
import os
import sys
import time
import venv
from pathlib import Path

import pytest

from hookline.runner.warm.pool import ColdStart
from tests.runner.contained import comes_true
from tests.runner.warm.warmed import cold, seen, warm, warm_pool

AGO = time.time() - 1000


def write(path: str | Path, text: str, *, age: float = 0.0) -> None:
    """Write a file that was there before anything was started, unless it is younger than that."""
    Path(path).write_text(text)
    os.utime(path, (AGO - age, AGO - age))


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter of its own, to install something for."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    return str(tmp_path / "venv/bin/python")


def installed(python: str, text: str, name: str = "package.py") -> Path:
    (place,) = Path(python).parents[1].glob("lib/python*/site-packages")
    write(place / name, text)
    return place / name


async def test_a_changed_script_is_what_runs() -> None:
    argv = [sys.executable, "hook.py"]
    write("hook.py", "print('one')")
    async with warm_pool() as pool:
        assert (await warm(pool, argv)).stdout == b"one\n"
        write("hook.py", "import json, sys; print('two', 'queue' in sys.modules)", age=1)
        assert (await warm(pool, argv)).stdout == b"two False\n"


async def test_what_a_changed_script_no_longer_imports_is_not_there() -> None:
    argv = [sys.executable, "hook.py"]
    write("hook.py", "import queue, sys; print('queue' in sys.modules)")
    async with warm_pool() as pool:
        assert (await warm(pool, argv)).stdout == b"True\n"
        write("hook.py", "import sys; print('queue' in sys.modules)")
        assert (await warm(pool, argv)).stdout == b"False\n"


async def test_a_changed_module_beside_the_script_is_what_is_imported() -> None:
    argv = [sys.executable, "hook.py"]
    write("hook.py", "import own; print(own.VALUE)")
    write("own.py", "VALUE = 1")
    async with warm_pool() as pool:
        assert (await warm(pool, argv)).stdout == b"1\n"
        write("own.py", "VALUE = 'other'")
        assert (await warm(pool, argv)).stdout == b"other\n"


async def test_an_installed_module_is_imported_once_for_all_calls(python: str) -> None:
    installed(python, "import time; WHEN = time.time_ns()")
    write("hook.py", "import package; print(package.WHEN)")
    async with warm_pool() as pool:
        outcomes = [await warm(pool, [python, "hook.py"]) for _ in range(3)]
    assert len({outcome.stdout for outcome in outcomes}) == 1


async def test_a_changed_installed_module_is_what_is_imported(python: str) -> None:
    installed(python, "VALUE = 1")
    write("hook.py", "import package; print(package.VALUE)")
    async with warm_pool() as pool:
        assert (await warm(pool, [python, "hook.py"])).stdout == b"1\n"
        installed(python, "VALUE = 'other'")
        assert (await warm(pool, [python, "hook.py"])).stdout == b"other\n"


# Waits, once it has been read, until the test lets it be imported.
WAITING = """
import os, time
VALUE = 1
os.mkdir("read")
while not os.path.exists("go"):
    time.sleep(0.005)
"""


async def test_a_module_written_while_the_template_starts_is_what_the_next_call_imports(
    python: str,
) -> None:
    module = installed(python, WAITING)
    write("hook.py", "import package; print(package.VALUE)")
    async with warm_pool() as pool:
        first = asyncio.create_task(warm(pool, [python, "hook.py"]))
        await comes_true(Path("read").exists)
        module.write_text("VALUE = 'other'")
        Path("go").touch()
        assert (await first).stdout == b"1\n"
        assert (await warm(pool, [python, "hook.py"])).stdout == b"other\n"


async def test_a_script_written_while_the_template_starts_is_what_the_next_call_runs(
    python: str,
) -> None:
    installed(python, WAITING)
    write("hook.py", "import package; print('one', 'package' in globals())")
    async with warm_pool() as pool:
        first = asyncio.create_task(warm(pool, [python, "hook.py"]))
        await comes_true(Path("read").exists)
        Path("hook.py").write_text("import sys; print('two', 'package' in sys.modules)")
        Path("go").touch()
        await first
        assert (await warm(pool, [python, "hook.py"])).stdout == b"two False\n"


async def test_an_installed_module_that_reads_a_variable_has_its_value_of_now(python: str) -> None:
    installed(python, "import os; MODE = os.environ.get('MODE')")
    write("hook.py", "import package, os; print(package.MODE, os.getppid())")
    async with warm_pool() as pool:
        said = [
            (await warm(pool, [python, "hook.py"], env={"MODE": mode})).stdout.split()
            for mode in ("a", "a", "b")
        ]
    assert [mode for mode, _ in said] == [b"a", b"a", b"b"]
    assert said[0][1] == said[1][1] != said[2][1]


UNSHARED = {
    "threads": (
        "import threading, time; threading.Thread(target=time.sleep, args=(0.3,)).start()",
        "more than one thread",
    ),
    "random numbers": ("import random; GENERATOR = random.Random()", "random numbers"),
    "an open file": ("import os; OPEN = open(os.devnull)", "leaves them open"),
    "a changed environment": ("import os; os.environ['SET'] = 'yes'", "the environment"),
    "a copied environment": ("import os; COPY = dict(os.environ)", "the environment"),
    "output": ("print('imported')", "prints 'imported'"),
    "a warning": ("import warnings; warnings.warn('careful')", "prints '"),
    "a deprecation": (
        "import warnings; warnings.warn('old', DeprecationWarning, stacklevel=2)",
        "prints '",
    ),
}


@pytest.mark.parametrize("what", UNSHARED)
async def test_an_installed_module_that_calls_cannot_share_makes_a_script_run_cold(
    python: str, what: str
) -> None:
    text, reason = UNSHARED[what]
    installed(python, text)
    write("hook.py", "import json\nimport package\n")
    async with warm_pool() as pool:
        with pytest.raises(ColdStart, match=reason):
            await warm(pool, [python, "hook.py"])


@pytest.mark.parametrize("text", ["raise ValueError('broken')", "raise SystemExit(4)"])
async def test_an_installed_module_that_fails_does_so_in_each_call(python: str, text: str) -> None:
    installed(python, text)
    write("hook.py", "import json\nimport package\n")
    async with warm_pool() as pool:
        outcomes = [await warm(pool, [python, "hook.py"]) for _ in range(2)]
    expected = seen(await cold([python, "hook.py"]))
    assert [seen(outcome) for outcome in outcomes] == [expected, expected]


async def test_a_module_that_appears_beside_the_script_takes_the_place_of_another() -> None:
    argv = [sys.executable, "hook.py"]
    write("hook.py", "import queue; print(queue.__file__)")
    async with warm_pool() as pool:
        assert b"hook" not in (await warm(pool, argv)).stdout
        write("queue.py", "")
        assert (await warm(pool, argv)).stdout == f"{Path('queue.py').resolve()}\n".encode()


async def test_what_is_written_beside_the_script_does_not_have_it_started_anew() -> None:
    argv = [sys.executable, "hook.py"]
    write("hook.py", "import os; open(f'log-{os.getpid()}', 'w'); print(os.getppid())")
    async with warm_pool() as pool:
        outcomes = [await warm(pool, argv) for _ in range(3)]
    assert len({outcome.stdout for outcome in outcomes}) == 1


async def test_a_path_set_before_an_import_is_where_it_is_found(python: str) -> None:
    installed(python, "PLACE = 'installed'")
    Path("vendor").mkdir()
    write("vendor/package.py", "PLACE = 'vendored'")
    text = "import sys\nsys.path.insert(0, 'vendor')\nimport package\nprint(package.PLACE)"
    write("hook.py", text)
    async with warm_pool() as pool:
        assert (await warm(pool, [python, "hook.py"])).stdout == b"vendored\n"


async def test_a_sitecustomize_of_the_users_runs_as_it_would(python: str) -> None:
    installed(python, "import sys; sys.site = 'customized'; print('site')", "sitecustomize.py")
    write("hook.py", "import sys; print(sys.site, sys.modules['sitecustomize'].__file__)")
    async with warm_pool() as pool:
        outcomes = [await warm(pool, [python, "hook.py"]) for _ in range(2)]
    expected = seen(await cold([python, "hook.py"]))
    assert [seen(outcome) for outcome in outcomes] == [expected, expected]


async def test_a_path_of_the_users_is_searched_as_it_would_be() -> None:
    Path("lib").mkdir()
    write("lib/queue.py", "OWN = True")
    looks = "sys.path, sorted(sys.path_importer_cache), os.environ['PYTHONPATH']"
    write("hook.py", f"import queue, sys, os; print(queue.OWN, {looks})")
    argv, env = [sys.executable, "hook.py"], {"PYTHONPATH": "lib:/elsewhere"}
    async with warm_pool() as pool:
        outcome = await warm(pool, argv, env=env)
    assert seen(outcome) == seen(await cold(argv, env=env))


async def test_an_interpreter_that_cannot_be_held_back_never_runs_the_script_by_itself() -> None:
    launcher = Path("python3").resolve()
    launcher.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} "$@"\n')
    launcher.chmod(0o755)
    write("hook.py", "open('ran', 'w')")
    async with warm_pool() as pool:
        with pytest.raises(ColdStart, match="held back"):
            await warm(pool, [str(launcher), "hook.py"])
        with pytest.raises(ColdStart, match="held back"):
            await warm(pool, [str(launcher), "hook.py"])
    assert not Path("ran").exists()


async def test_a_launcher_that_makes_way_for_an_interpreter_can_be_warm() -> None:
    launcher = Path("python3").resolve()
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    launcher.chmod(0o755)
    write("hook.py", "import os; print(os.getppid())")
    async with warm_pool() as pool:
        assert int((await warm(pool, [str(launcher), "hook.py"])).stdout) != os.getpid()


async def test_a_script_that_is_executed_by_itself_is_the_same_warm() -> None:
    write("hook", f"#!{sys.executable} -u\nimport sys; print(sys.argv, sys.path[0], __file__)")
    Path("hook").chmod(0o755)
    argv = [str(Path("hook").resolve()), "a"]
    async with warm_pool() as pool:
        assert seen(await warm(pool, argv)) == seen(await cold(argv))
