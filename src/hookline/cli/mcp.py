"""``hookline mcp``: the hooks of a directory between an MCP client and an MCP server.

Standard output carries the protocol, so all messages for people go to standard error.
"""

import logging
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from hookline.cli.events import load_project, run_on_asyncio
from hookline.cli.failures import CommandError, tell_problems
from hookline.cli.logs import make_handler
from hookline.cli.options import SOURCES, STRICTNESS, TRUST, Option, Options, flag
from hookline.cli.screen import Screen
from hookline.contract import Config
from hookline.dialects.matcher import Match, compile_matcher
from hookline.engine.engine import Engine
from hookline.hooks import Hooks, HookSession
from hookline.shell.tokens import VARIABLE

if TYPE_CHECKING:
    from hookline.service.mcp.server import Server
    from hookline.service.mcp.tools import Identity

EXAMPLES = (
    "hookline mcp -- npx -y @modelcontextprotocol/server-filesystem .",
    "hookline mcp --name files --tools 'read_.*|list_directory' -- python3 server.py",
    "hookline mcp --url https://example.org/mcp --header 'Authorization: Bearer $TOKEN'",
)
OPTIONS = (
    Option(
        "server",
        "SERVER",
        "after --, the command that starts the server, and its arguments",
        default=(),
        count="*",
    ),
    Option("--url", "URL", "the URL of a server that speaks streamable HTTP"),
    Option(
        "--header",
        "NAME: VALUE",
        "send this header to --url; $VAR in it is read from the environment; can be given more "
        "than once",
        again=True,
    ),
    flag("--allow-http", "allow an http:// URL of another machine; no header is sent there"),
    Option(
        "--name",
        "NAME",
        "the server's name for hooks: its tools are mcp__NAME__TOOL (default: its own name; needed "
        "in strict mode)",
    ),
    Option(
        "--tools",
        "PATTERN",
        "list and allow only the tools whose whole name this matches",
    ),
    Option(
        "--label",
        "NAME=TEXT",
        "hooks read this in the labels of every event, as user=ada; can be given more than once",
        again=True,
    ),
    *STRICTNESS,
    *TRUST,
    *SOURCES,
)


def run(options: Options, screen: Screen) -> int:
    """Serve until the client or the server ends; return the server's exit status."""
    if options.json:
        raise CommandError("--json: standard output carries the protocol; leave --json out")
    command: list[str] = list(options.server)
    if bool(command) == (options.url is not None):
        what = "not both" if command else "as in: hookline mcp -- SERVER ARGS…"
        raise CommandError(f"name the server by its command after --, or by its --url; {what}")
    if options.header and options.url is None:
        raise CommandError(
            "--header works only with --url; pass values to a command through its environment"
        )
    if options.allow_http and options.url is None:
        raise CommandError("--allow-http works only with --url; leave it out")
    if options.name is not None and not options.name.strip():
        raise CommandError("--name: give the server a name, or leave it out")
    headers = dict(_read_header(text) for text in options.header or ())
    labels = _read_labels(options.label or ())
    allows = None if options.tools is None else _read_pattern(options.tools)
    if sys.stdin is None or sys.stdout is None:
        raise CommandError(
            "standard input or output is closed; start hookline mcp from an MCP client"
        )
    logger = logging.getLogger("hookline")
    logger.propagate = False
    logger.handlers = [make_handler("hookline: %(message)s")]
    project = load_project(
        options,
        warm=True,
        trusted=options.trust,
        strict=options.strict,
        required=options.require or (),
    )
    tell_problems(screen, project.get_settings().problems)
    if options.name is None and project.in_force.strict:
        raise CommandError(
            "strict mode needs --name: a server could give itself a name that no matcher knows"
        )
    # Nothing that this process prints may get between the protocol's messages.
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        with Hooks.of(Config.of(Engine(project))) as hooks:
            session = hooks.session(None, labels=labels)
            return run_on_asyncio(_serve(options, command, headers, session, allows, wire))
    finally:
        os.dup2(wire, 1)
        os.close(wire)


async def _serve(
    options: Options,
    command: list[str],
    headers: dict[str, str],
    hooks: HookSession,
    allows: Match | None,
    wire: int,
) -> int:
    from hookline.service.mcp.client import McpClient
    from hookline.service.mcp.lines import Lines, Outlet
    from hookline.service.mcp.proxy import Proxy

    async with AsyncExitStack() as ends:
        incoming, outgoing = Lines(os.dup(0)), Outlet(os.dup(wire))
        ends.callback(incoming.close)
        ends.callback(outgoing.close)
        server = await _open_server(options, command, headers, ends)
        identity = _identify(options.name, options.url, command)
        client = McpClient(incoming, outgoing)
        return await Proxy(hooks, server, client, identity=identity, allows=allows).run()


async def _open_server(
    options: Options, command: list[str], headers: dict[str, str], ends: AsyncExitStack
) -> "Server":
    if options.url is None:
        from hookline.service.mcp.stdio import StdioServer

        return StdioServer(command)
    try:
        from hookline.service.mcp.http import HttpServer
    except ImportError:
        raise CommandError("--url needs httpx; run pip install 'hookline[http]'") from None
    there = HttpServer(options.url, headers=headers, allow_http=options.allow_http)
    return await ends.enter_async_context(there)


def _identify(name: str | None, url: str | None, command: list[str]) -> "Identity":
    from hookline.service.mcp.tools import Identity

    if url is None:
        place = {"command": command[0], "args": command[1:], "cwd": os.getcwd()}
        return Identity(name=name, fallback=os.path.basename(command[0]), place=place)
    from urllib.parse import urlsplit

    from hookline.service.mcp.address import read_address

    # Hooks must not read a password or key in the URL.
    place = {"url": read_address(url, allow_http=True).shown}
    return Identity(name=name, fallback=urlsplit(url).hostname or url, place=place)


def _read_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise CommandError("--header: a value is not a header; write 'Name: value'")

    def look_up(found: "re.Match[str]") -> str:
        variable = found[1] or found[2]
        if variable not in os.environ:
            raise CommandError(f"--header: {name}: the variable {variable} is not set; export it")
        return os.environ[variable]

    return name.strip(), re.sub(VARIABLE, look_up, value.strip())


def _read_labels(texts: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--label: {text!r} is not a label; write NAME=TEXT, as user=ada")
        if name in labels:
            raise CommandError(f"--label: {name} is given twice; leave one out")
        labels[name] = value
    return labels


def _read_pattern(text: str) -> Match:
    if not text.strip():
        raise CommandError("--tools: name at least one tool, or leave it out to allow all")
    allows, problem = compile_matcher(text, search=False)
    if problem is not None:
        raise CommandError(f"--tools: {problem.message}; correct it")
    return allows
