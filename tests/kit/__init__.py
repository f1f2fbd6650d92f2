"""Conformance suites for buses, translators and adapters: what each one here must keep."""
