"""An SDK is loaded when its provider is made, and no other SDK with it."""

import subprocess
import sys

import pytest

SDKS = {"anthropic", "google.genai", "openai"}
MAKE = {
    "anthropic": "AnthropicProvider",
    "google.genai": "GenAIProvider",
    "openai": "OpenAIProvider",
}
KEYS = "import os; os.environ.update(OPENAI_API_KEY='x', GEMINI_API_KEY='x', ANTHROPIC_API_KEY='x')"


def loaded(code: str) -> set[str]:
    """The SDKs that a program has loaded at its end."""
    code = f"{KEYS}\nimport hookline.agent\n{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return SDKS & set(done.stdout.split())


def test_the_agent_loads_no_sdk() -> None:
    assert loaded("") == set()


@pytest.mark.parametrize("sdk", MAKE)
def test_a_provider_loads_its_own_sdk_alone(sdk: str) -> None:
    assert loaded(f"hookline.agent.{MAKE[sdk]}('m')") == {sdk}
