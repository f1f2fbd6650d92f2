"""Runs an http hook: one POST of the event; a JSON object in the response is the answer.

Responses are not trusted: no status decides, no redirect is followed, and reading is bounded in
size and time. No part of a header's value is in any result.
"""

import os
import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookline._support.address import TRANSPORT_HEADERS, AddressError, check_header
from hookline._support.escapes import one_line
from hookline._support.secrets import Secrets
from hookline.dialects import DIALECTS, HookAnswer, is_read_strictly
from hookline.dialects.stdout import has_every_key, read_whole_object, trim
from hookline.runner.addresses import Target, choose_reach
from hookline.runner.context import InputDocument, RunContext
from hookline.runner.invocation import make_environment
from hookline.shell.tokens import VARIABLE
from hookline.wire import codec
from hookline.wire.hooks import HttpHook
from hookline.wire.results import HookExecutionResult

# Needs h11, which is an extra.
if TYPE_CHECKING:
    from hookline.runner.http_client import Client, Response

_JSON = "application/json"
_MISSING = "http hooks need h11 and httpx; run pip install 'hookline[http]'"


class HttpRunner:
    """Runs http hooks, from any event loop of asyncio."""

    def __init__(self) -> None:
        self._client: Client | None = None

    async def run(
        self, hook: HttpHook, document: InputDocument, context: RunContext
    ) -> HookExecutionResult:
        """Send the input to the hook's URL and read the response in the hook's dialect."""
        started = time.perf_counter()
        headers = _Headers(hook, context)
        text = ""
        try:
            answer, text = await self._send_event(hook, document, context, headers)
        except AddressError as error:
            answer = HookAnswer(success=False, failed="error", error=str(error))
        return HookExecutionResult(
            hook=hook,
            event_name=document.event,
            success=answer.success,
            output=answer.output,
            output_format=answer.output_format,
            stdout=text,
            failed=answer.failed,
            error=answer.error,
            duration=(time.perf_counter() - started) * 1000,
            warnings=(*headers.warnings, *answer.warnings),
        )

    async def _send_event(
        self, hook: HttpHook, document: InputDocument, context: RunContext, headers: "_Headers"
    ) -> tuple[HookAnswer, str]:
        """Return the answer, and the body of the response to show to people."""
        target, reach = choose_reach(hook, context.private_hosts)
        body = document.encoded(hook.dialect)
        sent = headers.make(target, body)
        try:
            from hookline.runner.http_client import Client, Request, Unanswered
        except ImportError:
            return HookAnswer(success=False, failed="spawn", error=_MISSING), ""
        request = Request(
            target=target,
            reach=reach,
            headers=sent,
            body=body,
            seconds=hook.timeout / 1000,
            limit=context.limits.max_stdout,
        )
        if self._client is None:
            self._client = Client()
        try:
            response = await self._client.send(request)
        except Unanswered as error:
            return HookAnswer(success=False, failed=error.failed, error=str(error)), ""
        text = response.body.decode("utf-8", "replace")
        return _read_response(hook, document, target, response, text, headers.secrets)


class _Headers:
    """The headers of a request; ``secrets`` are the values they took from the environment, to hide
    wherever the server repeats them."""

    def __init__(self, hook: HttpHook, context: RunContext) -> None:
        self.warnings: list[str] = []
        self.secrets = Secrets()
        self._hook = hook
        self._context = context

    def make(self, target: Target, body: bytes) -> list[tuple[bytes, bytes]]:
        """Make all headers; raises ``AddressError`` for a malformed one."""
        headers = {
            "host": target.netloc,
            "user-agent": "hookline",
            "accept": _JSON,
            # Without compression the size on the wire is the size in memory.
            "accept-encoding": "identity",
            "content-type": _JSON,
            "content-length": str(len(body)),
        }
        for name, value in self._hook.headers.items():
            name, value = check_header(name, self._fill_variables(name, value))
            if name.lower() not in TRANSPORT_HEADERS:
                headers[name.lower()] = value
            elif value.partition(";")[0].strip().lower() != headers.get(name.lower()):
                self.warnings.append(f"hookline sets the header {name} itself; remove it")
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    def _fill_variables(self, header: str, value: str) -> str:
        """Replace the names of variables in a header's value by their values."""
        if "$" not in value:
            # A literal value may be a secret too; a word before it names its scheme.
            self.secrets.learn({header: value.rpartition(" ")[2]})
            return value
        environment = make_environment(self._context.redaction, {}, {}, self._context.inherited)
        shared = self._context.shared_env if self._hook.dialect != "native" else {}

        def find(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self._hook.allowed_env:
                why = "allowedEnvVars does not list it"
            elif (found := shared.get(name, environment.get(name))) is not None:
                # The name of the variable or of the header tells whether it is a secret.
                self.secrets.learn({f"{header}: {name}": found})
                return found
            else:
                is_hidden = name in os.environ
                why = "redaction hides it from hooks" if is_hidden else "it is not set"
            self.warnings.append(f"the header {header} lacks the variable {name}: {why}")
            return ""

        return re.sub(VARIABLE, find, value)


def _read_response(
    hook: HttpHook,
    document: InputDocument,
    target: Target,
    response: "Response",
    text: str,
    secrets: Secrets,
) -> tuple[HookAnswer, str]:
    shown = secrets.hidden(text)
    if not response.is_success:
        error = f"{target.shown} answered with {_describe_status(response)}"
        return HookAnswer(success=False, failed="error", error=error), shown
    strict = is_read_strictly(hook)
    if strict and not response.is_delimited:
        error = f"{target.shown} ends its response by closing the connection, which may cut it"
        error = f"{error}; send Content-Length or chunks"
        return HookAnswer(success=False, failed="malformed", error=error), shown
    body = trim(text)
    if not body:
        return HookAnswer(success=True), shown
    value = read_whole_object(body) if strict else _read_json(body)
    if not isinstance(value, dict):
        error = f"{target.shown} sent neither a JSON object nor an empty body; correct its answer"
        if strict and body.startswith("{"):
            error = f"the answer of {target.shown} {value}; correct it"
        return HookAnswer(success=False, failed="malformed", error=error), shown
    dialect = DIALECTS[hook.dialect]
    if not strict and not has_every_key(body, value):
        # Only the text shows that a field is given twice; then the stricter value counts.
        return dialect.read_answer(document, hook.name, 0, secrets.hidden(body), ""), shown
    hidden = secrets.hidden(value)
    return dialect.read_value(document, hidden, hook_name=hook.name, strict=strict), shown


def _read_json(text: str) -> object:
    try:
        return codec.decode(text)
    except codec.DecodeError:
        return None


def _describe_status(response: "Response") -> str:
    try:
        status = f"status {response.status} ({HTTPStatus(response.status).phrase})"
    except ValueError:
        status = f"status {response.status}"
    if not (300 <= response.status < 400 and response.location):
        return status
    try:
        host = urlsplit(response.location).hostname or "the same host"
    except ValueError:
        host = "nowhere"
    return (
        f"{status}, a redirect to {one_line(host[:200])}; hookline follows none, so correct the url"
    )
