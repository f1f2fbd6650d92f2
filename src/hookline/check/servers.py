"""Rules for http hooks: URLs that hookline never sends to, and headers that lack variables."""

import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from hookline._support.address import TRANSPORT_HEADERS, AddressError, check_header
from hookline.check.findings import Finding, Severity
from hookline.check.material import Checked, HookSite
from hookline.shell.tokens import VARIABLE
from hookline.wire.hooks import HttpHook


def check_servers(checked: Checked) -> Iterator[Finding]:
    """Find what keeps events from being sent to a server, or sent as intended."""
    sites = [(site, site.hook) for site in checked.hooks if isinstance(site.hook, HttpHook)]
    if sites and find_spec("httpx") is None:
        what = "http hooks need httpx, which is not installed here"
        remedy = "run pip install 'hookline[http]'"
        yield sites[0][0].finding("http", Severity.WARNING, ("type",), what, remedy)
    for site, hook in sites:
        try:
            _check_reach(hook, checked.private_hosts)
        except AddressError as error:
            what, _, remedy = str(error).partition("; ")
            what = f"the hook is never called: {what}"
            yield site.finding("http-url", Severity.ERROR, ("url",), what, remedy)
        yield from _check_headers(site, hook)


def _check_reach(hook: HttpHook, private_hosts: Sequence[str]) -> None:
    """Raise ``AddressError`` for a hook that is never called, as far as its URL alone tells."""
    from hookline.runner.addresses import Reach, choose_reach, read_literal

    target, reach = choose_reach(hook, private_hosts)
    address = read_literal(target.host)
    if target.host == "localhost" or target.host.endswith(".localhost"):
        address = read_literal("127.0.0.1")
    if address is not None and not reach.includes(address):
        raise AddressError(reach.describe_refusal(target.host, address))
    if address is None and reach is Reach.THIS_MACHINE:
        raise AddressError(f"plain http reaches only this machine, not {target.host}; use https")


def _check_headers(site: HookSite, hook: HttpHook) -> Iterator[Finding]:
    for name, value in hook.headers.items():
        at = ("headers", name)
        for match in re.finditer(VARIABLE, value):
            variable = match[1] or match[2]
            if variable not in hook.allowed_env:
                what = f"the header {name} lacks {variable}, which allowedEnvVars does not name"
                remedy = f'write "allowedEnvVars": ["{variable}"]'
                yield site.finding("http-header", Severity.WARNING, at, what, remedy)
        try:
            check_header(name, re.sub(VARIABLE, "", value))
        except AddressError as error:
            what = f"the hook is never called: {error}"
            yield site.finding("http-header", Severity.ERROR, at, what, "correct it")
        if name.lower() in TRANSPORT_HEADERS:
            what = f"hookline sets the header {name} itself"
            yield site.finding("http-header", Severity.HINT, at, what, "remove it")
