"""Reads the log that ``HOOKLINE_TRACE`` keeps: lines to records, records to events, nothing run."""
