"""The worker behind ``hookline serve``: the hooks of one directory for everybody on a bus."""

from hookline.serving.worker import PolicyError, Worker, WorkerStatus

__all__ = ["PolicyError", "Worker", "WorkerStatus"]
