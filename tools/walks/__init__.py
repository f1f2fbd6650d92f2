"""The programs that ``tools/walk.py`` follows, each in a process of its own, and how it does so."""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parents[2] / "src" / "hookline"
RECORD = "HOOKLINE_WALK"


@contextlib.contextmanager
def walking() -> Iterator[None]:
    """Record each function of hookline that is called inside, in any thread, in the order of the
    first calls, and write it to the file that ``RECORD`` names."""
    called: dict[tuple[str, str], None] = {}
    source = f"{SOURCE}{os.sep}"

    def watch(frame: FrameType | None, event: str, _argument: Any) -> None:
        if frame is None or event != "call":
            return
        code = frame.f_code
        # The body of a class or a module is not OPTIMIZED; to a reader a comprehension is no call.
        is_function = code.co_flags & 1 and (code.co_name[0] != "<" or code.co_name == "<lambda>")
        if not is_function or not code.co_filename.startswith(source):
            return
        # A module that is being imported makes its tables; the event is not there yet.
        while frame := frame.f_back:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(source):
                return
        called.setdefault((code.co_filename.removeprefix(source), code.co_qualname), None)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    Path(os.environ[RECORD]).write_text(json.dumps(list(called)))
