"""What a validator that knows nothing of hookline says of a document."""

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from hookline.hooktests.schema import hooktest_schema
from hookline.settings.schema import settings_schema

SETTINGS = Draft202012Validator(settings_schema())
HOOKTESTS = Draft202012Validator(hooktest_schema())


def find_mistake(validator: Any, document: object) -> tuple[str, str] | None:
    """Where the worst mistake is and what it is, None for a document without one."""
    found = best_match(validator.iter_errors(document))
    return None if found is None else (found.json_path, found.message)
