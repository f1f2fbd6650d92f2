"""Other agents' hook settings made ours: what moves, what changes on the way, what cannot come.

A hook moves only if it will then run when it ran before; what its script has to change for our
events and answers is said beside it. Scripts are read, and nothing of them is ever run.
"""
