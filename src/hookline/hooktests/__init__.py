"""Hook tests: events and what their hooks should say, as data in ``*.hooktest.json`` files."""
