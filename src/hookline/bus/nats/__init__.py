"""Hooks over many machines: the bus of ``hookline serve`` and of agents that fire remotely."""

from hookline.bus.nats.bus import NatsMessageBus
from hookline.bus.nats.connection import ConnectionState
from hookline.bus.nats.intake import ServingOptions
from hookline.bus.nats.options import BusConnectionError, tls_context

__all__ = [
    "BusConnectionError",
    "ConnectionState",
    "NatsMessageBus",
    "ServingOptions",
    "tls_context",
]
