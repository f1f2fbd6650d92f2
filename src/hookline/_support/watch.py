"""Reports when one of several files has changed, appeared or vanished, from a thread of its own.

Editors and deployments replace files instead of writing into them, and the directory of a settings
file may not exist yet: so the nearest existing directories are watched.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable

from hookline._support.files import Signature, signature
from hookline.errors import HooklineError

# Milliseconds: how long a file must stay unchanged until it counts as written, and between looks.
_DEBOUNCE = 200
_STEP = 50


class WatchError(HooklineError):
    """Files cannot be watched."""


class FileWatch:
    """Calls ``changed`` from its thread after any of ``files`` has changed, until ``stop()``.

    Raises WatchError if files cannot be watched; ``warn`` is called for errors that come later.
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
        self._known = self._read_signatures()
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._watch_files, name="hookline watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; when this returns, ``changed`` is not called again."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch_files(self) -> None:
        import watchfiles

        while not self._stopped.is_set():
            try:
                directories = self._find_directories()
                # Ctrl-C is for the main thread, so this one must not handle it.
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
                    # A file may have changed before the watch began.
                    self._report_changes()
                    for _ in changes:
                        if self._stopped.is_set():
                            return
                        self._report_changes()
                        if self._find_directories() != directories:
                            break
            except Exception as error:
                self._warn(f"cannot watch the settings for changes, trying again: {error}")
                self._stopped.wait(1)

    def _report_changes(self) -> None:
        now = self._read_signatures()
        if now != self._known:
            self._known = now
            self._changed()

    def _read_signatures(self) -> tuple[Signature | None, ...]:
        return tuple(map(signature, self._files))

    def _find_directories(self) -> frozenset[str]:
        """Return the directories of the files, or the nearest existing ones above them."""
        directories = set()
        for file in self._files:
            directory = os.path.dirname(file)
            while not os.path.isdir(directory) and directory != os.path.dirname(directory):
                directory = os.path.dirname(directory)
            directories.add(directory)
        return frozenset(directories)
