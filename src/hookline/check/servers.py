"""Rules for http hooks: URLs that hookline never sends to, and headers that lack variables."""

import re
from collections.abc import Iterator
from importlib.util import find_spec

from hookline.check.findings import Finding, Severity
from hookline.check.material import Checked, HookSite
from hookline.wire.hooks import HookSource, HttpHook

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def check_servers(checked: Checked) -> Iterator[Finding]:
    """Find what keeps events from being sent to a server, or sent as intended."""
    sites = [(site, site.hook) for site in checked.hooks if isinstance(site.hook, HttpHook)]
    if sites and find_spec("httpx") is None:
        what = "http hooks need httpx, which is not installed here"
        remedy = "run pip install 'hookline[http]'"
        yield sites[0][0].finding("http", Severity.WARNING, ("type",), what, remedy)
    for site, hook in sites:
        refused = _why_refused(hook, checked)
        if refused is not None:
            what, remedy = refused
            yield site.finding("http-url", Severity.ERROR, ("url",), what, remedy)
        yield from _check_headers(site, hook)


def _why_refused(hook: HttpHook, checked: Checked) -> tuple[str, str] | None:
    """Say why an event is never sent to the hook's URL, and what to do; None if it is."""
    from hookline._support.address import AddressError
    from hookline.runner.addresses import fits, is_named, is_public, read_literal
    from hookline.runner.addresses import read_target as read

    try:
        target = read(hook.url)
    except AddressError as error:
        what, _, remedy = str(error).partition("; ")
        return f"the hook is never called: {what}", remedy
    address = read_literal(target.host)
    is_here = target.host == "localhost" or target.host.endswith(".localhost")
    is_here = is_here if address is None else address.is_loopback
    if target.scheme == "http" and not is_here:
        what = f"plain http is only for this machine, so nothing is sent to {target.host}"
        return what, "write https://"
    if not all(fits(target, patterns) for patterns in hook.allowed_urls):
        what = "allowedHttpHookUrls has no pattern for this URL, so the hook is never called"
        return what, "add the URL there"
    is_private = is_here or (address is not None and not is_public(address))
    is_projects = hook.source is HookSource.PROJECT
    if is_projects and is_private and not is_named(target.host, checked.private_hosts):
        what = f"a project's hook cannot reach {target.host}, which is private"
        return what, 'allow it under "security": {"privateHookHosts": […]} in the user\'s settings'
    return None


def _check_headers(site: HookSite, hook: HttpHook) -> Iterator[Finding]:
    from hookline._support.address import TRANSPORT_HEADERS, AddressError, check_header

    for name, value in hook.headers.items():
        at = ("headers", name)
        for found in _VARIABLE.finditer(value):
            variable = found[1] or found[2]
            if variable not in hook.allowed_env:
                what = f"the header {name} lacks {variable}, which allowedEnvVars does not name"
                remedy = f'write "allowedEnvVars": ["{variable}"]'
                yield site.finding("http-header", Severity.WARNING, at, what, remedy)
        try:
            check_header(name, _VARIABLE.sub("", value))
        except AddressError as error:
            what = f"the hook is never called: {error}"
            yield site.finding("http-header", Severity.ERROR, at, what, "correct it")
        if name.lower() in TRANSPORT_HEADERS:
            what = f"hookline sets the header {name} itself"
            yield site.finding("http-header", Severity.HINT, at, what, "remove it")
