"""What a forked child must give up, because it belongs to its parent.

A lock among it may be held by a thread that does not exist in the child.
"""

import os
import weakref
from typing import Protocol


class _Owned(Protocol):
    def forget(self) -> None: ...


owned_by_process: "weakref.WeakSet[_Owned]" = weakref.WeakSet()


def _forget_all() -> None:
    for owned in owned_by_process:
        owned.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
