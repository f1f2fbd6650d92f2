"""What a shell is told so that it can complete command lines: all of it but the names of hooks.

Those change with the directory, so a shell asks for them (``names``) whenever they are wanted.
"""
