"""What is so of MCP over HTTP without the package it needs; tests/adapters has the rest."""

import subprocess
import sys


def test_without_httpx_its_import_says_in_one_line_what_to_install() -> None:
    code = "import sys; sys.modules['httpx'] = None; import hookline.service.mcp.http"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last == "ImportError: MCP over HTTP needs httpx; run pip install 'hookline[http]'"


def test_the_proxy_of_a_command_loads_no_httpx() -> None:
    code = "import sys, hookline.service.mcp.proxy; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
