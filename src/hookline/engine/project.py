"""The settings in force of one agent: those of code and those on disk, combined, and what of them
may run.

A command that only reads settings, like ``hookline list``, loads neither the engine nor asyncio.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.notices import warn
from hookline._support.places import home_dir, hook_state_dir, system_settings_file
from hookline._support.problem import Problem
from hookline.dialects import ROWS, load_foreign
from hookline.engine.options import LoadOptions, Options, PathLike, takes
from hookline.errors import NoFolderError
from hookline.runner.context import RunContext, RunLimits
from hookline.settings.layers import Layer, ReadSources
from hookline.settings.reader import (
    EffectiveSettings,
    GivenTrust,
    ProjectTrust,
    SettingsFile,
    SettingsReader,
    Switches,
    combine,
    find_demands,
    find_dialect,
    find_foreign_files,
    find_project_dir,
    find_settings_files,
    find_tools,
    read_layer,
)
from hookline.wire.hooks import HookConfig, HookSource, Redaction

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias
    from hookline.pipeline.registry import HookRegistryEntry
    from hookline.runner.context import Judge
    from hookline.settings.sources import Sources
    from hookline.trace.records import DebugLogger
    from hookline.translate import HookTranslator
    from hookline.trust.folder import FolderTrust
    from hookline.trust.review import ReviewDraft, ReviewedFile

_NO = frozenset({"", "0", "false", "no", "off"})


class InForce(msgspec.Struct, frozen=True, eq=False):
    """What the settings in force mean for every event, worked out when they are read.

    ``context`` are the rules that hooks run under, for a session without an id. ``tools`` map the
    host's tools to those of other dialects, None if none are declared.
    """

    strict: bool
    context: RunContext
    tools: "Mapping[str, ToolAlias] | None"


class Project:
    """The settings of one directory, and the trust in them.

    With ``alone`` only the project's own settings are read, not those of the user and the system.
    ``inherited`` are variables whose value for hooks differs from this process's.
    """

    def __init__(
        self,
        options: Options,
        *,
        alone: bool = False,
        inherited: tuple[tuple[str, str | None], ...] = (),
    ) -> None:
        self.options = options
        self.working_dir: str
        self.project_dir: str
        disk = options if isinstance(options, LoadOptions) else None
        system = options.system_settings
        self._system_settings = os.path.abspath(system or system_settings_file())
        if disk is None:
            self.working_dir = os.path.abspath(options.working_dir or os.getcwd())
            self.project_dir = os.path.abspath(options.project_dir or self.working_dir)
        else:
            self.working_dir, self.project_dir = _find_places(disk)
        self.target_dir: str = os.path.abspath(options.target_dir or self.working_dir)
        # A single path is an iterable too, of its characters.
        plugins = options.plugins
        folders = [plugins] if isinstance(plugins, str | os.PathLike) else plugins
        self._plugins = [os.fspath(folder) for folder in folders]
        self._disabled, self._required = tuple(options.disabled), tuple(options.required)
        self._judge, self._log = options.judge, options.debug_logger
        self._translator, self._session_id = options.translator, options.session_id
        self._inherited = inherited
        self._whole_trust = GivenTrust(disk is None if options.trusted is None else options.trusted)
        self.folder_trust: FolderTrust | None = None
        self._foreign_files: tuple[SettingsFile, ...] = ()
        self._reader: SettingsReader | None = None
        # Reads settings of other dialects and plugins; created when settings or code ask for them.
        self._sources: Sources | None = None
        if disk is not None:
            self._find_files(disk, alone=alone)
        elif system or self._plugins:
            own = SettingsFile(self._system_settings, HookSource.SYSTEM)
            self._reader = SettingsReader([own] if system else [])
        self._trust: ProjectTrust = self.folder_trust or self._whole_trust
        self._code_layers = _read_code_layers(options)
        self._hook_state = hook_state_dir(self.project_dir)
        self._expects_settings = False
        self._lock = threading.RLock()
        self._settings: EffectiveSettings | None = None
        self.in_force: InForce = self._work_out(None)

    @classmethod
    @takes(LoadOptions)
    def load(cls, directory: PathLike | None = None, **options: Any) -> "Project":
        """Return the project of a directory, with the settings layers on disk; raises NoFolderError
        if there is no such directory."""
        return cls(LoadOptions(directory, **options))

    def _find_files(self, options: LoadOptions, *, alone: bool) -> None:
        home, replacements = home_dir(), options.settings_files
        if options.trusted is None and replacements is None:
            from hookline.trust.folder import FolderTrust
            from hookline.trust.store import TrustStore

            self.folder_trust = FolderTrust(
                TrustStore.all(),
                project_dir=self.project_dir,
                cwd=self.working_dir,
                warn=warn,
                copies=options.copies,
            )
        files = find_settings_files(
            self.project_dir, home, replacements=replacements, system=self._system_settings
        )
        foreign = find_foreign_files(self.project_dir, home)
        if replacements is not None:
            foreign = [file for file in foreign if file.source is HookSource.SYSTEM]
        if alone:
            files = [file for file in files if file.source is HookSource.PROJECT]
            foreign = [file for file in foreign if file.source is HookSource.PROJECT]
        self._reader, self._foreign_files = SettingsReader(files), tuple(foreign)

    def expect_settings(self) -> None:
        """Warn, once, if the settings are read and the project turns out to have none."""
        self._expects_settings = True

    def is_off(self) -> bool:
        """True if no hook may run; code, the user and the system can switch all of them off."""
        if self._reader is None or not self.options.enable_hooks:
            return not self.options.enable_hooks
        return not (self._settings or self.get_settings()).enabled

    def is_trusted(self) -> bool:
        """True if all of the project's hooks may run."""
        if self.folder_trust is not None:
            self.get_settings()
            return self.folder_trust.is_all_trusted
        return self._whole_trust.is_given()

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Return why a hook may not run now, None if it may."""
        return self._trust.why_untrusted(hook)

    def adopts(self, hook: HookConfig) -> bool:
        """True if code may register this hook in the project's layer."""
        self.get_settings()
        return self._trust.adopt(hook)

    def get_open(self, hook: HookConfig) -> str:
        """Return why no review vouches for what a project's hook starts, "" if one does."""
        return "" if self.folder_trust is None else self.folder_trust.get_open(hook)

    def get_reviewed_files(self, hook: HookConfig) -> "Mapping[str, ReviewedFile] | None":
        """Return the reviewed files of a hook that runs from its copy, None for any other."""
        return None if self.folder_trust is None else self.folder_trust.get_files(hook)

    def trusts_test(self, file: str) -> bool:
        """True if a hook test of the project may use files and variables of its own."""
        if self.folder_trust is not None:
            return self.folder_trust.trusts_test(file)
        return self.is_trusted()

    def get_session_id(self) -> str:
        """Return the id of the session that events belong to."""
        if self._session_id is not None:
            return self._session_id
        import uuid

        with self._lock:
            self._session_id = self._session_id or str(uuid.uuid4())
            return self._session_id

    def get_log(self) -> "DebugLogger":
        """Return the logger that records what hooks did."""
        with self._lock:
            if self._log is None:
                from hookline.trace.records import DebugLogger

                wanted = self._reader is not None and self.get_settings().trace
                self._log = DebugLogger.from_environment(default=wanted)
            return self._log

    def get_translator(self) -> "HookTranslator":
        """Return the translator between the model SDK's types and what hooks read."""
        with self._lock:
            if self._translator is None:
                from hookline.translate.choice import AnyTranslator

                self._translator = AnyTranslator()
            return self._translator

    def get_tools(self) -> "Mapping[str, ToolAlias] | None":
        """Return what the host's tools are in other dialects, None if it declares none."""
        self.get_settings()
        return self.in_force.tools

    def offer_judge(self, judge: "Judge") -> None:
        """Have prompt hooks ask this judge, unless there is one."""
        with self._lock:
            if self._judge is not None:
                return
            self._judge, settings = judge, self._settings
            if settings is not None:
                problems = tuple(each for each in settings.problems if each.kind != "no-judge")
                settings = msgspec.structs.replace(settings, problems=problems)
            self._put_in_force(settings)

    def review(self, tests: Iterable[str] = ()) -> "ReviewDraft":
        """Return the review of what the project's hooks would run now, and of other hooks that
        start the project's files; raises TrustError. ``tests`` are hook tests that use files or
        variables of their own."""
        from hookline.trust.folder import FolderTrust
        from hookline.trust.review import review
        from hookline.trust.store import TrustStore

        layers = self._read_sources().layers
        project_dir, cwd = self.project_dir, self.working_dir
        trust = self.folder_trust or FolderTrust(TrustStore.all(), project_dir=project_dir, cwd=cwd)
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

    def get_settings(self) -> EffectiveSettings:
        """Return the settings as they were last read; the first call reads them."""
        if self._settings is not None:
            return self._settings
        with self._lock:
            return self._settings or self.read_settings()

    def read_settings(self) -> EffectiveSettings:
        """Read every layer again; the result lists their problems. Raises OSError if the system
        is out of resources to read them with."""
        sources = self._read_sources()
        in_code = [*self._code_layers, *sources.in_code]
        layers = [*sources.layers, *in_code]
        switches = Switches(layers, self._disabled)
        if self.folder_trust is not None:
            self.folder_trust.use(
                sources.layers,
                is_on=lambda hook: switches.allow(HookSource.PROJECT, hook),
                is_required=self._make_is_required(layers, ()),
                in_code=in_code,
                others=sources.foreign,
                tools=None if self._sources is None else self._sources.tools,
            )
        settings = combine(
            layers,
            trust=self._trust,
            disabled=self._disabled,
            strict=self.options.strict,
            required=self._required,
        )
        foreign = next((e.hook.dialect for e in settings.entries if e.hook.dialect in ROWS), None)
        if self._sources is not None and foreign is not None:
            of_project = self._trust.get_tools(sources.layers)
            tools, problems = load_foreign(foreign).make_tools(
                sources.layers, of_code=self.options.tools, of_project=of_project
            )
            settings = msgspec.structs.replace(
                settings,
                tools=tools,
                shared_env=sources.shared_env,
                problems=(*settings.problems, *problems),
            )
            self._sources.share_tools(tools)
        if self._judge is None:
            questions = [e for e in settings.entries if e.hook.type == "prompt" and e.enabled]
            lacks = (*settings.problems, *map(_explain_no_judge, questions))
            settings = msgspec.structs.replace(settings, problems=lacks)
        self._put_in_force(settings)
        if self._expects_settings:
            self._expects_settings = False
            self._warn_of_missing()
        return settings

    def keep_settings(self, settings: EffectiveSettings) -> None:
        """Put earlier settings back in force, because those read since may not be used."""
        if self._sources is not None and settings.tools is not None:
            self._sources.share_tools(settings.tools)
        if self.folder_trust is not None:
            self.folder_trust.restore()
        self._put_in_force(settings)

    def list_files(self) -> tuple[str, ...]:
        """Return the files that decide which hooks exist and may run, even those that are not
        there."""
        files = [file.path for file in self.sources]
        files += () if self._sources is None else self._sources.plugin_files
        return (*files, *(self.folder_trust.files if self.folder_trust is not None else ()))

    @property
    def sources(self) -> tuple[SettingsFile, ...]:
        """The settings files that were last looked for, even those that are not there."""
        source = self._sources or self._reader
        return () if source is None else source.files

    def find_unread(self) -> list[str]:
        """Return the settings files of other dialects that exist but are not read, unless code or
        settings turned them down."""
        self.get_settings()
        if self._foreign is False or (self._sources is not None and self._sources.foreign is False):
            return []
        paths = {file.path for file in self.sources}
        return [
            f.path for f in self._foreign_files if f.path not in paths and os.path.isfile(f.path)
        ]

    @property
    def _foreign(self) -> bool | None:
        return self.options.foreign if isinstance(self.options, LoadOptions) else None

    def _put_in_force(self, settings: EffectiveSettings | None) -> None:
        in_force = self._work_out(settings)
        self._settings, self.in_force = settings, in_force

    def _work_out(self, settings: EffectiveSettings | None) -> InForce:
        options, sources = self.options, self._sources
        from_environment = os.environ.get("HOOKLINE_STRICT", "").strip().lower() not in _NO
        tools = None if settings is None else settings.tools
        context = RunContext(
            cwd=self.working_dir,
            project_dir=self.project_dir,
            session_id="",
            why_untrusted=self._trust.why_untrusted,
            redaction=options.redaction or (settings.redaction if settings else Redaction()),
            limits=options.limits or RunLimits(),
            warm=options.warm,
            tools=sources.tools if sources is not None and tools is not None else None,
            shared_env=settings.shared_env if settings else {},
            judge=self._judge,
            private_hosts=settings.private_hosts if settings else (),
            inherited=self._inherited,
            hook_state=self._hook_state,
        )
        is_strict = options.strict or from_environment or (settings is not None and settings.strict)
        return InForce(is_strict, context, options.tools if tools is None else tools)

    def _make_is_required(
        self, layers: Sequence[Layer], project: Sequence[Layer]
    ) -> "Callable[[HookRegistryEntry], bool]":
        """Return a function that says whether somebody requires an entry; a project's own words
        are among them."""
        names = [name for layer in project for name in layer.required]
        demands = find_demands(layers, required=self._required, of_project=names)
        return lambda entry: any(demand.is_met_by(entry) for demand in demands)

    def _read_sources(self) -> ReadSources:
        """Read the settings files, and those of other dialects if settings or code ask for them."""
        if self._reader is None:
            return ReadSources()
        if self._sources is None:
            layers = self._reader.read()
            is_mentioned = any(
                layer.foreign is not None or layer.plugins or layer.rules is not None
                for layer in layers
            )
            if not (is_mentioned or self._foreign or self._plugins):
                return ReadSources(layers=layers, foreign=self._foreign)
            from hookline.settings.sources import Sources

            self._sources = Sources(
                self._reader.files,
                project_dir=self.project_dir,
                foreign_files=self._foreign_files,
                foreign=self._foreign,
                plugins=self._plugins,
            )
        return self._sources.read()

    def _warn_of_missing(self) -> None:
        """Warn if there is no settings file of the project; or none of those that code named."""
        files = [file for file in self.sources if file.source is not HookSource.SYSTEM]
        of_project = [file for file in files if file.source is HookSource.PROJECT]
        if any(os.path.lexists(file.path) for file in of_project or files):
            return
        problem = f"{self.project_dir} has no hook settings"
        if not of_project:
            problem = f"there is no settings file {' or '.join(file.path for file in files)}"
        unread = self.find_unread()
        remedy = "`hookline init` makes a first hook"
        if unread:
            dialect = find_dialect(unread[0])
            title = ROWS[dialect].title
            remedy = f"hooks of {title} are in {', '.join(unread)}: load them with {dialect}=True"
        warn(f"{problem}, so none of its hooks run; {remedy}")


def _find_places(options: LoadOptions) -> tuple[str, str]:
    """Return the working directory and the project's; raises NoFolderError."""
    working_dir = options.directory or options.working_dir
    for folder in (working_dir, options.project_dir):
        if folder and not os.path.isdir(folder):
            raise NoFolderError(os.fspath(os.path.abspath(folder)))
    here, home, foreign = os.path.abspath(working_dir or os.getcwd()), home_dir(), options.foreign
    if options.project_dir:
        return here, os.path.abspath(options.project_dir)
    project = find_project_dir(here, home, foreign=foreign or False)
    if foreign is None and options.settings_files is None:
        of_others = find_project_dir(here, home, foreign=True)
        if of_others != project and _wants_foreign(here, home, options.system_settings):
            project = of_others
    return here, os.path.abspath(project)


def _wants_foreign(working_dir: str, home: str | None, system: PathLike | None) -> bool:
    """True if the user's or the system's settings want those of other dialects read."""
    from hookline.settings.sources import Sources

    files = find_settings_files(working_dir, home, system=os.fspath(system) if system else None)
    others = [file for file in files if file.source is not HookSource.PROJECT]
    try:
        return Sources(others, project_dir=working_dir).wants_foreign()
    except OSError:  # out of resources; the next read of the settings reports it
        return False


def _read_code_layers(options: Options) -> list[Layer]:
    rows = (
        ("Config(hooks=…)", HookSource.PROJECT, options.hooks),
        ("Config(user_hooks=…)", HookSource.USER, options.user_hooks),
        ("Config(system_hooks=…)", HookSource.SYSTEM, options.system_hooks),
    )
    layers = [read_layer({"hooks": hooks}, source, label) for label, source, hooks in rows]
    for extension in options.extensions:
        if extension.get("isActive", True):
            label, path = f"extension {extension.get('name')!r}", extension.get("path")
            folder = os.path.abspath(path) if path else None
            hooks = {"hooks": extension.get("hooks")}
            layers.append(read_layer(hooks, HookSource.EXTENSIONS, label, folder=folder))
    return layers


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
