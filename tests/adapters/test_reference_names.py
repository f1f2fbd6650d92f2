"""The names of adapters that the reference has, with the frameworks at hand."""

import importlib

import pytest

from tools.reference.api import find_adapters


@pytest.mark.parametrize("name", find_adapters())
def test_every_name_of_the_reference_can_be_imported(name: str) -> None:
    module = importlib.import_module(f"hookline.adapters.{name}")
    for public in find_adapters()[name]:
        assert getattr(module, public).__doc__
