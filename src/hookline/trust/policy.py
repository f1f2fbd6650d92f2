"""The digest of a policy: of all hooks in force, whatever layer they are from."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from hookline._support.files import Signature, sign_settled, signature
from hookline.settings.layers import HookRegistryEntry
from hookline.trust.coverage import FileState
from hookline.trust.review import ReviewedFile, describe_entry, look_at
from hookline.wire import codec
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, HttpHook


class Policy(msgspec.Struct, frozen=True):
    """A digest of hooks and of the files that a review of them covers, with the signatures of
    those files."""

    digest: str
    signatures: dict[str, Signature | None]

    @classmethod
    def read(
        cls,
        entries: Iterable[HookRegistryEntry],
        *,
        project_dir: str,
        cwd: str,
        get_files: Callable[[HookConfig], Mapping[str, ReviewedFile] | None],
    ) -> "Policy":
        """Return the policy of hooks from any layer. A hook that runs from its copy counts as it
        was reviewed (``get_files``). The paths that a user's hook names are relative to the folder
        of its settings."""
        import hashlib

        texts, places = [], list[str]()
        began = time.time_ns()
        for entry in entries:
            root, hook = project_dir, entry.hook
            parts: list[Any] = [describe_entry(entry)]
            if isinstance(hook, HttpHook):
                parts.append(hook.allowed_urls)
            if isinstance(hook, CommandHook):
                if hook.source is not HookSource.PROJECT and hook.directory is not None:
                    root = hook.plugin_root or hook.directory
                files = get_files(hook)
                if files is None:
                    states: dict[str, FileState] = {}
                    look = look_at(entry, project_dir=root, cwd=cwd, states=states)
                    files = {name: ReviewedFile.of(state) for name, state in states.items()}
                    real = os.path.realpath(root)
                    places += (os.path.join(real, name) for name in (*files, *look.folders))
                parts.append(sorted(msgspec.to_builtins(dict(files)).items()))
            texts.append(codec.encode(parts))
        digest = hashlib.sha256(b"|".join(sorted(texts))).hexdigest()
        return cls(f"sha256:{digest}", sign_settled(places, since=began))

    def is_current(self) -> bool:
        """True if nothing that it covers has changed since."""
        return all(signature(place) == then for place, then in self.signatures.items())
