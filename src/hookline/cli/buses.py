"""The bus that ``--bus`` names; its client is loaded only where there is one."""

from typing import TYPE_CHECKING, Any

from hookline.cli.failures import CommandError

if TYPE_CHECKING:
    from hookline.bus.nats import NatsMessageBus


def open_bus(text: str, **options: Any) -> "NatsMessageBus":
    """The bus, not connected yet; ``@FILE`` keeps a password out of the list of processes."""
    try:
        from hookline.bus.nats import BusConnectionError, NatsMessageBus
    except ImportError as error:
        raise CommandError(f"--bus: {error}") from None
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    try:
        return NatsMessageBus.from_url(text, **options)
    except BusConnectionError as error:
        raise CommandError(f"--bus: {error}") from None
