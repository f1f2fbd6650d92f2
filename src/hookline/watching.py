"""Says when one of some files has changed, come or gone; a thread of its own waits for that.

Editors and deployments replace files rather than write into them, and the directory of a settings
file may not exist yet: so directories are watched, the nearest that there are.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable

from hookline.errors import HooklineError
from hookline.files import signature

# Milliseconds: how long writing must rest before it counts as done, and how often a watch looks.
_DEBOUNCE = 200
_STEP = 50


class WatchError(HooklineError):
    """Files cannot be watched."""


class FileWatch:
    """Calls ``changed`` from its thread after any of ``files`` has changed, until ``stop()``.

    Raises WatchError where files cannot be watched; ``warn`` is called with what fails later.
    """

    def __init__(
        self, files: Iterable[str], changed: Callable[[], object], warn: Callable[[str], None]
    ) -> None:
        try:
            import watchfiles  # noqa: F401 - fail now, not in the thread
        except ImportError:
            raise WatchError(
                "watching files needs the package watchfiles: pip install 'hookline[watch]'"
            ) from None
        self._files = tuple(files)
        self._changed = changed
        self._warn = warn
        self._known = tuple(map(signature, self._files))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hookline watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; when this returns, ``changed`` is not called again."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        import watchfiles

        while not self._stopped.is_set():
            directories = self._directories()
            try:
                # Ctrl-C is for the main thread, so this one neither raises it nor waits for it.
                changes = watchfiles.watch(
                    *directories,
                    watch_filter=None,
                    debounce=_DEBOUNCE,
                    step=_STEP,
                    stop_event=self._stopped,
                    rust_timeout=1000,
                    yield_on_timeout=True,
                    raise_interrupt=False,
                    recursive=False,
                )
                with contextlib.closing(changes):
                    # A first look, as a file may have changed before it was watched.
                    self._compare()
                    for _ in changes:
                        if self._stopped.is_set():
                            return
                        self._compare()
                        if self._directories() != directories:
                            break
            except Exception as error:
                self._warn(f"settings are not watched for changes at the moment: {error}")
                self._stopped.wait(1)

    def _compare(self) -> None:
        now = tuple(map(signature, self._files))
        if now != self._known:
            self._known = now
            self._changed()

    def _directories(self) -> frozenset[str]:
        """The nearest directories of the files that there are."""
        nearest = set()
        for directory in map(os.path.dirname, self._files):
            while not os.path.isdir(directory) and directory != os.path.dirname(directory):
                directory = os.path.dirname(directory)
            nearest.add(directory)
        return frozenset(nearest)
