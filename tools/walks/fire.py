"""A BeforeTool event from ``hookline fire`` to the screen."""

import sys

from tools.walks import walking
from tools.walks.project import write_project

write_project(".hookline/settings.json", event="BeforeTool", matcher="write_file")
with walking():
    from hookline.cli import main

    tool = ["--tool", "write_file", "--tool-input", '{"content": ""}']
    status = main(["fire", "BeforeTool", "--trust", *tool])
sys.exit(status)
