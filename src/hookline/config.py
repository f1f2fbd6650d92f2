"""The configuration of a hook system: from code, or from the settings files on disk."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import msgspec

from hookline._support.notices import warn
from hookline._support.places import home_dir, hook_state_dir, system_settings_file
from hookline._support.problem import Problem
from hookline.errors import NoFolderError
from hookline.runner.context import RunContext, RunLimits
from hookline.settings.layers import Layer, ReadSources
from hookline.settings.reader import (
    GivenTrust,
    ProjectTrust,
    Settings,
    SettingsFile,
    SettingsReader,
    Switches,
    combine,
    find_claude_files,
    find_demands,
    find_project_dir,
    find_settings_files,
    find_tools,
    read_layer,
)
from hookline.wire.hooks import HookConfig, HookSource, OnFailure, Redaction

# A command that only reads settings, like ``hookline list``, loads neither the engine nor asyncio.
if TYPE_CHECKING:
    from typing import Unpack

    from hookline.bus.messages import MessageBus
    from hookline.dialects.tools import ToolAlias
    from hookline.engine.remote import Execution, OnUnavailable, RemoteFiring
    from hookline.pipeline.registry import HookRegistryEntry
    from hookline.runner.context import Judge
    from hookline.settings.reader import Required
    from hookline.settings.sources import Sources
    from hookline.system import HookSystem
    from hookline.trace.records import DebugLogger
    from hookline.translate import HookTranslator
    from hookline.trust.folder import FolderTrust
    from hookline.trust.review import Looked, ReviewedFile
    from hookline.wire.events import HookEventName
    from hookline.wire.hooks import HookFunction

HooksByEvent: TypeAlias = Mapping[str, Any]
PathLike: TypeAlias = str | os.PathLike[str]
Trusted: TypeAlias = bool | Callable[[], bool]

_NO = frozenset({"", "0", "false", "no", "off"})


class LoadOptions(TypedDict, total=False):
    """The options that code may give beside the settings on disk: the session, the hooks of each
    layer, how hooks run, the bus that is served, the bus that events are fired over, and what else
    the engine uses."""

    session_id: str | None
    transcript_path: str
    target_dir: PathLike | None
    hooks: HooksByEvent | None
    user_hooks: HooksByEvent | None
    system_hooks: HooksByEvent | None
    extensions: Iterable[Mapping[str, Any]]
    disabled: Iterable[str]
    enable_hooks: bool
    strict: bool
    required: Iterable[str]
    policy: str | None
    system_settings: PathLike | None
    limits: RunLimits | None
    warm: bool
    redaction: Redaction | None
    message_bus: "MessageBus | None"
    remote_bus: "MessageBus | None"
    execution: "Execution | None"
    on_unavailable: "OnUnavailable"
    remote_timeout: float
    debug_logger: "DebugLogger | None"
    translator: "HookTranslator | None"
    plugins: Iterable[PathLike]
    tools: "Mapping[str, ToolAlias] | None"
    judge: "Judge | None"


class Options(LoadOptions, total=False):
    """All options of a configuration."""

    working_dir: PathLike | None
    project_dir: PathLike | None
    trusted: Trusted


class HookOptions(TypedDict, total=False):
    """The options of a hook that is registered in code."""

    matcher: str | None
    name: str | None
    sequential: bool
    timeout: float | None
    on_failure: OnFailure


class Config:
    """The configuration of one agent, and the owner of its hook system.

    Hooks given in code are in the form of the ``hooks`` object of a settings file: ``hooks`` is
    the project's layer, ``user_hooks`` and ``system_hooks`` the others, and ``extensions`` a list
    of ``{"name", "isActive", "path", "hooks"}``, whose hooks find the directory ``path`` as
    ``${extensionPath}``. ``disabled`` names hooks that the user switched off.
    ``trusted`` says whether the project's hooks may run; a function is called each time.

    With ``strict`` an event is blocked whenever one of its hooks could not answer. Every event is
    blocked while one of the ``required`` hooks (``name``, or ``layer:name``) is not in force.
    ``policy`` is the digest of the only policy that a worker on a bus may answer with.
    ``system_settings`` replaces the path of the system's settings file. Without ``warm`` no
    interpreter is kept running for hooks that ask for it.

    ``plugins`` are folders of Claude Code plugins, whose hooks need no trust. ``tools`` maps the
    host's tools to Claude Code's, for hooks in Claude Code's format, beside the tools that are
    known. ``judge``, plain or async, puts the questions of prompt hooks to a model and returns its
    answer; without it prompt hooks do not run, and fail if they must answer.
    """

    def __init__(
        self,
        *,
        working_dir: PathLike | None = None,
        target_dir: PathLike | None = None,
        project_dir: PathLike | None = None,
        session_id: str | None = None,
        transcript_path: str = "",
        enable_hooks: bool = True,
        hooks: HooksByEvent | None = None,
        user_hooks: HooksByEvent | None = None,
        system_hooks: HooksByEvent | None = None,
        extensions: Iterable[Mapping[str, Any]] = (),
        disabled: Iterable[str] = (),
        trusted: Trusted = True,
        strict: bool = False,
        required: Iterable[str] = (),
        policy: str | None = None,
        system_settings: PathLike | None = None,
        redaction: Redaction | None = None,
        limits: RunLimits | None = None,
        warm: bool = True,
        message_bus: "MessageBus | None" = None,
        remote_bus: "MessageBus | None" = None,
        execution: "Execution | None" = None,
        on_unavailable: "OnUnavailable" = "allow",
        remote_timeout: float = 70.0,
        debug_logger: "DebugLogger | None" = None,
        translator: "HookTranslator | None" = None,
        plugins: Iterable[PathLike] = (),
        tools: "Mapping[str, ToolAlias] | None" = None,
        judge: "Judge | None" = None,
    ) -> None:
        self._working_dir = os.path.abspath(working_dir or os.getcwd())
        self._target_dir = os.path.abspath(target_dir) if target_dir else self._working_dir
        self._project_dir = os.path.abspath(project_dir) if project_dir else self._working_dir
        self._session_id = session_id
        self._transcript_path = transcript_path
        self._enable_hooks = enable_hooks
        self._strict = strict
        self._required = tuple(required)
        self._policy = policy
        self._system_settings = os.path.abspath(system_settings or system_settings_file())
        self._disabled = tuple(disabled)
        self._folder_trust: FolderTrust | None = None
        self._given_trust = GivenTrust(trusted)
        self._trust: ProjectTrust = self._given_trust
        self._redaction = redaction
        self._limits = limits or RunLimits()
        self._warm = warm
        self._message_bus = message_bus
        self._remote: RemoteFiring | None = None
        if remote_bus is not None or execution not in (None, "local") or on_unavailable != "allow":
            from hookline.engine.remote import remote_firing

            self._remote = remote_firing(
                remote_bus,
                execution=execution,
                on_unavailable=on_unavailable,
                timeout=remote_timeout,
            )
        self._debug_logger = debug_logger
        self._translator = translator
        self._given_tools = tools
        self._judge = judge
        # A single path is an iterable too, of its characters.
        folders = [plugins] if isinstance(plugins, str | os.PathLike) else plugins
        self._plugins = [os.fspath(folder) for folder in folders]
        own = [SettingsFile(self._system_settings, HookSource.SYSTEM)] if system_settings else []
        self._reader: SettingsReader | None = None
        if own or self._plugins:
            self._reader = SettingsReader(own)
        # Reads Claude Code's settings and plugins; created when settings or code ask for them.
        self._sources: Sources | None = None
        self._claude: bool | None = None
        self._claude_files: tuple[SettingsFile, ...] = ()
        self._expects_settings = False
        given = [
            ("Config(hooks=…)", HookSource.PROJECT, hooks),
            ("Config(user_hooks=…)", HookSource.USER, user_hooks),
            ("Config(system_hooks=…)", HookSource.SYSTEM, system_hooks),
        ]
        self._code_layers = [
            read_layer({"hooks": named}, source, label) for label, source, named in given
        ]
        for extension in extensions:
            if extension.get("isActive", True):
                label, path = f"extension {extension.get('name')!r}", extension.get("path")
                folder = os.path.abspath(path) if path else None
                named = {"hooks": extension.get("hooks")}
                layer = read_layer(named, HookSource.EXTENSIONS, label, folder=folder)
                self._code_layers.append(layer)
        self._hook_state = hook_state_dir(self._project_dir)
        self._settings: Settings | None = None
        self._hook_system: HookSystem | None = None
        self._unregistered: list[HookRegistryEntry] = []
        self._lock = threading.RLock()

    @classmethod
    def load(
        cls,
        working_dir: PathLike | None = None,
        *,
        project_dir: PathLike | None = None,
        settings_files: Sequence[PathLike] | None = None,
        trusted: Trusted | None = None,
        claude: bool | None = None,
        copies: bool = False,
        **options: "Unpack[LoadOptions]",
    ) -> "Config":
        """Read the configuration of a directory from the settings layers on disk.

        ``project_dir`` is found from the working directory unless it is given. ``settings_files``
        replace the layers that would be found, highest priority first; they need no trust. The
        project's hooks run if the user has trusted them (``hookline trust``); ``trusted``
        overrides that. With ``copies`` all reviewed hooks that can run from their copies do, not
        only guards. ``claude`` says whether Claude Code's settings are read too; with None,
        hookline's settings decide. The other options are those of ``Config``. Raises
        NoFolderError if there is no such directory.
        """
        for folder in (working_dir, project_dir):
            if folder and not os.path.isdir(folder):
                raise NoFolderError(os.fspath(os.path.abspath(folder)))
        here = os.path.abspath(working_dir or os.getcwd())
        home = home_dir()
        found = project_dir or find_project_dir(here, home, claude=claude or False)
        if not project_dir and claude is None and settings_files is None:
            with_claude = find_project_dir(here, home, claude=True)
            if with_claude != found and _wants_claude(here, home, options.get("system_settings")):
                found = with_claude
        project = os.path.abspath(found)
        is_given = trusted is not None or settings_files is not None
        config = cls(
            working_dir=here,
            project_dir=project,
            trusted=False if trusted is None else trusted,
            **options,
        )
        if not is_given:
            from hookline.trust.folder import FolderTrust
            from hookline.trust.store import TrustStore

            config._trust = config._folder_trust = FolderTrust(
                TrustStore.all(), project_dir=project, cwd=here, warn=warn, copies=copies
            )
        files = find_settings_files(
            project, home, given=settings_files, system=config._system_settings
        )
        config._reader, config._claude = SettingsReader(files), claude
        claude_files = find_claude_files(project, home)
        if settings_files is not None:
            claude_files = [file for file in claude_files if file.source is HookSource.SYSTEM]
        config._claude_files = tuple(claude_files)
        return config

    def expect_settings(self) -> None:
        """Warn, once, if the settings are read and the project turns out to have none."""
        self._expects_settings = True

    def get_hook_system(self) -> "HookSystem | None":
        """Return the one hook system, created on first use; None when hooks are disabled."""
        if not self.get_enable_hooks():
            return None
        if self._hook_system is not None:
            return self._hook_system
        with self._lock:
            if self._hook_system is None:
                from hookline.system import HookSystem

                system = HookSystem(self)
                waiting, self._unregistered = self._unregistered, []
                for entry in waiting:
                    system.add_hook(entry)
                self._hook_system = system
            return self._hook_system

    def register_hook(
        self,
        event: "str | HookEventName",
        hook: "HookFunction",
        **options: "Unpack[HookOptions]",
    ) -> None:
        """Register a function as a hook. This reads no settings: the hook is kept until the hook
        system is created. Raises UnknownEventError or InvalidHookError at once."""
        from hookline.system import read_hook

        entry = read_hook(event, hook, **options)
        with self._lock:
            if self._hook_system is None:
                self._unregistered.append(entry)
            else:
                self._hook_system.add_hook(entry)

    def dispose(self) -> None:
        """End the hook system's helper processes, and async hooks that still run; calls under way
        finish."""
        with self._lock:
            system = self._hook_system
        # Not under the lock: listeners that are told of the end of async hooks may call back.
        if system is not None:
            system.dispose()

    def get_session_id(self) -> str:
        """Return the id of the session that events belong to."""
        if self._session_id is not None:
            return self._session_id
        import uuid

        with self._lock:
            self._session_id = self._session_id or str(uuid.uuid4())
            return self._session_id

    def get_working_dir(self) -> str:
        """Return the directory that hooks run in."""
        return self._working_dir

    def get_target_dir(self) -> str:
        """Return the directory that the agent works on; hooks are not told of it."""
        return self._target_dir

    def get_project_dir(self) -> str:
        """Return the directory that the project's settings are in."""
        return self._project_dir

    def get_transcript_path(self) -> str:
        """Return the path of the transcript, "" if there is none."""
        return self._transcript_path

    def get_enable_hooks(self) -> bool:
        """True if hooks may run; code, the user and the system can switch all of them off."""
        if not self._enable_hooks or self._reader is None:
            return self._enable_hooks
        return self.get_settings().enabled

    def is_strict(self) -> bool:
        """True if an event is blocked whenever one of its hooks could not answer; code, the
        environment and any settings that were read can ask for it."""
        if self._strict or os.environ.get("HOOKLINE_STRICT", "").strip().lower() not in _NO:
            return True
        return self._settings is not None and self._settings.strict

    def get_required(self) -> "tuple[Required, ...]":
        """Return the hooks that must be in force for an event to go on."""
        return self.get_settings().required

    def get_policy(self) -> str | None:
        """Return the digest of the only policy that a worker may answer with, None for any."""
        return self._policy

    def is_trusted_folder(self) -> bool:
        """True if all of the project's hooks may run."""
        if self._folder_trust is not None:
            self.get_settings()
            return self._folder_trust.is_all_trusted
        return self._given_trust.is_given()

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Return why a hook may not run now, None if it may."""
        return self._trust.why_untrusted(hook)

    def is_review_stale(self) -> bool:
        """True if the project was reviewed again since its settings were read."""
        return self._folder_trust is not None and self._folder_trust.is_stale()

    def adopts(self, hook: HookConfig) -> bool:
        """True if code may register this hook in the project's layer."""
        self.get_settings()
        return self._trust.adopt(hook)

    def get_open(self, hook: HookConfig) -> str:
        """Return why no review vouches for what a project's hook starts, "" if one does."""
        return "" if self._folder_trust is None else self._folder_trust.get_open(hook)

    def get_reviewed_files(self, hook: HookConfig) -> "Mapping[str, ReviewedFile] | None":
        """Return the reviewed files of a hook that runs from its copy, None for any other."""
        return None if self._folder_trust is None else self._folder_trust.get_files(hook)

    def trusts_test(self, file: str) -> bool:
        """True if a hook test of the project may use files and variables of its own."""
        if self._folder_trust is not None:
            return self._folder_trust.trusts_test(file)
        return self.is_trusted_folder()

    def get_message_bus(self) -> "MessageBus | None":
        """Return the bus whose requests the hook system serves, None if it serves none."""
        return self._message_bus

    def get_remote_firing(self) -> "RemoteFiring | None":
        """Return how events are fired over a bus, None if hooks run in this process."""
        return self._remote

    def get_debug_logger(self) -> "DebugLogger":
        """Return the logger that records what hooks did."""
        with self._lock:
            if self._debug_logger is None:
                from hookline.trace.records import DebugLogger

                wanted = self._reader is not None and self.get_settings().trace
                self._debug_logger = DebugLogger.from_environment(default=wanted)
            return self._debug_logger

    def get_translator(self) -> "HookTranslator":
        """Return the translator between the model SDK's types and what hooks read."""
        with self._lock:
            if self._translator is None:
                from hookline.translate.choice import AnyTranslator

                self._translator = AnyTranslator()
            return self._translator

    def get_tools(self) -> "Mapping[str, ToolAlias] | None":
        """Return how the host's tools map to Claude Code's, None if it declares none."""
        settings = self.get_settings()
        return self._given_tools if settings.tools is None else settings.tools

    def offer_judge(self, judge: "Judge") -> None:
        """Have prompt hooks ask this judge, unless the configuration has one."""
        with self._lock:
            if self._judge is None:
                self._judge = judge
                if self._settings is not None:
                    kept = (each for each in self._settings.problems if each.kind != "no-judge")
                    self._settings = msgspec.structs.replace(self._settings, problems=tuple(kept))

    def run_context(self, session_id: str) -> RunContext:
        """Return the rules that the hooks of one event run under."""
        settings = self.get_settings()
        return RunContext(
            cwd=self._working_dir,
            project_dir=self._project_dir,
            session_id=session_id,
            why_untrusted=self._trust.why_untrusted,
            redaction=self._redaction or settings.redaction,
            limits=self._limits,
            warm=self._warm,
            tools=self._sources.tools if self._sources and settings.tools is not None else None,
            shared_env=settings.shared_env,
            judge=self._judge,
            private_hosts=settings.private_hosts,
            hook_state=self._hook_state,
        )

    def review_project(self, tests: Iterable[str] = ()) -> "Looked":
        """Return the review of what the project's hooks would run now, and of other hooks that
        start the project's files; raises TrustError. ``tests`` are hook tests that use files or
        variables of their own."""
        from hookline.trust.folder import FolderTrust
        from hookline.trust.review import review
        from hookline.trust.store import TrustStore

        read = self._read_sources()
        layers = read.layers
        project_dir, cwd = self._project_dir, self._working_dir
        trust = self._folder_trust or FolderTrust(
            TrustStore.all(), project_dir=project_dir, cwd=cwd
        )
        switches = Switches(layers, self._disabled)
        project = [layer for layer in layers if layer.source is HookSource.PROJECT]
        return review(
            trust.find_entries(layers),
            project_dir=project_dir,
            cwd=cwd,
            is_on=lambda hook: switches.allow(HookSource.PROJECT, hook),
            is_required=self._make_is_required(layers, project),
            tests=tests,
            strict=any(layer.strict for layer in project),
            required=dict.fromkeys(name for layer in project for name in layer.required),
            tools=find_tools(project),
        )

    def _make_is_required(
        self, layers: Sequence[Layer], project: Sequence[Layer]
    ) -> "Callable[[HookRegistryEntry], bool]":
        """Return a function that says whether somebody requires an entry; a project's own words
        are among them."""
        asked = [name for layer in project for name in layer.required]
        demands = find_demands(layers, required=self._required, of_project=asked)
        return lambda entry: any(demand.is_met_by(entry) for demand in demands)

    def get_settings(self) -> Settings:
        """Return the settings as they were last read; the first call reads them."""
        if self._settings is not None:
            return self._settings
        with self._lock:
            return self._settings or self.read_settings()

    def get_settings_files(self) -> tuple[str, ...]:
        """Return the files that decide which hooks exist and may run, even those that are not
        there."""
        files = [file.path for file in self.get_sources()]
        files += () if self._sources is None else self._sources.plugin_files
        return (*files, *(self._folder_trust.files if self._folder_trust is not None else ()))

    def get_sources(self) -> tuple[SettingsFile, ...]:
        """Return the settings files that were last looked for, even those that are not there."""
        source = self._sources or self._reader
        return () if source is None else source.files

    def get_unread(self) -> list[str]:
        """Return the Claude Code settings files that exist but are not read, unless code or
        settings turned them down."""
        self.get_settings()
        if self._claude is False or (self._sources is not None and self._sources.claude is False):
            return []
        read = {file.path for file in self.get_sources()}
        return [f.path for f in self._claude_files if f.path not in read and os.path.isfile(f.path)]

    def _read_sources(self) -> ReadSources:
        """Read the settings files, and Claude Code's if settings or code ask for them."""
        if self._reader is None:
            return ReadSources()
        if self._sources is None:
            layers = self._reader.read()
            asked = [
                layer
                for layer in layers
                if layer.claude is not None or layer.plugins or layer.rules is not None
            ]
            if not (asked or self._claude or self._plugins):
                return ReadSources(layers=layers, claude=self._claude)
            from hookline.settings.sources import Sources

            self._sources = Sources(
                self._reader.files,
                project_dir=self._project_dir,
                claude_files=self._claude_files,
                claude=self._claude,
                plugins=self._plugins,
            )
        return self._sources.read()

    def read_settings(self) -> Settings:
        """Read every layer again; the result lists their problems. Raises OSError if the system
        is out of resources to read them with."""
        read = self._read_sources()
        in_code = [*self._code_layers, *read.in_code]
        layers = [*read.layers, *in_code]
        switches = Switches(layers, self._disabled)
        if self._folder_trust is not None:
            self._folder_trust.use(
                read.layers,
                is_on=lambda hook: switches.allow(HookSource.PROJECT, hook),
                is_required=self._make_is_required(layers, ()),
                in_code=in_code,
                others=read.claude,
                tools=None if self._sources is None else self._sources.tools,
            )
        settings = combine(
            layers,
            trust=self._trust,
            disabled=self._disabled,
            strict=self._strict,
            required=self._required,
        )
        if self._sources is not None and any(e.hook.dialect == "claude" for e in settings.entries):
            from hookline.dialects.claude.settings import make_tools

            of_project = self._trust.get_tools(read.layers)
            given = self._given_tools
            tools, problems = make_tools(read.layers, given=given, of_project=of_project)
            settings = msgspec.structs.replace(
                settings,
                tools=tools,
                shared_env=read.shared_env,
                problems=(*settings.problems, *problems),
            )
            self._sources.share_tools(tools)
        asking = [e for e in settings.entries if e.hook.type == "prompt" and e.enabled]
        if self._judge is None and asking:
            told = (_explain_no_judge(entry) for entry in asking)
            settings = msgspec.structs.replace(settings, problems=(*settings.problems, *told))
        self._settings = settings
        if self._expects_settings:
            self._expects_settings = False
            self._tell_missing()
        return settings

    def _tell_missing(self) -> None:
        """Warn if there is no settings file of the project; or none of those that code named."""
        files = [file for file in self.get_sources() if file.source is not HookSource.SYSTEM]
        of_project = [file for file in files if file.source is HookSource.PROJECT]
        if any(os.path.lexists(file.path) for file in of_project or files):
            return
        told = f"{self._project_dir} has no hook settings"
        if not of_project:
            told = f"there is no settings file {' or '.join(file.path for file in files)}"
        unread = self.get_unread()
        remedy = "`hookline init` makes a first hook"
        if unread:
            remedy = f"hooks of Claude Code are in {', '.join(unread)}: load them with claude=True"
        warn(f"{told}, so none of its hooks run; {remedy}")

    def keep_settings(self, settings: Settings) -> None:
        """Put earlier settings back in force, because those read since may not be used."""
        self._settings = settings
        if self._sources is not None and settings.tools is not None:
            self._sources.share_tools(settings.tools)
        if self._folder_trust is not None:
            self._folder_trust.restore()


def _wants_claude(working_dir: str, home: str | None, system: PathLike | None) -> bool:
    """True if the user's or the system's settings want Claude Code's settings read."""
    from hookline.settings.sources import Sources

    files = find_settings_files(working_dir, home, system=os.fspath(system) if system else None)
    others = [file for file in files if file.source is not HookSource.PROJECT]
    try:
        return Sources(others, project_dir=working_dir).wants_claude()
    except OSError:  # out of resources; the next read of the settings reports it
        return False


def _explain_no_judge(entry: "HookRegistryEntry") -> Problem:
    is_closed = entry.hook.on_failure == "block"
    return Problem(
        kind="no-judge",
        file=entry.file or "",
        line=entry.line,
        message=f"prompt hook {entry.name!r} asks a model, and no judge was given",
        consequence="it fails, and blocks" if is_closed else "it is not run",
        remedy="give one with Hooks(judge=…)",
    )
