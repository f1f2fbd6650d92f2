"""Other agents' hook settings made ours: what moves, what changes on the way, what stays.

A hook moves only if it will then do what it did; in doubt it is refused. Scripts are read, and
nothing of them is ever run.
"""
