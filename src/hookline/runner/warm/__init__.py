"""Python scripts that start in a millisecond or two, because an interpreter waits for them.

A template is the hook's own interpreter, held back just before it would run the script; each call
is a fork that goes on from there. ``docs/warm.md`` says what a script can still notice.
"""
