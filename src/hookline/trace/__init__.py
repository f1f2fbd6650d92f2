"""Reads the log of ``HOOKLINE_TRACE``: lines to records, records to events; it runs nothing."""
