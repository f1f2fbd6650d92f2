"""The tools of other agents, and that none is said to be called what no tool is called."""

import pytest

from hookline.wire.tools import CLAUDE_TOOLS, NATIVE_TOOLS


@pytest.mark.parametrize("tool", sorted(CLAUDE_TOOLS))
def test_what_a_tool_of_claude_code_is_called_here_is_a_tool_that_is_known(tool: str) -> None:
    assert set(CLAUDE_TOOLS[tool]) <= NATIVE_TOOLS
    assert tool not in NATIVE_TOOLS
