"""The one place the version is written: the build reads this file without importing it."""

__version__ = "0.1.0"
