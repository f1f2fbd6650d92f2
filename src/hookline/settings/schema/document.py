"""Makes types from tables, for objects whose keys are not valid Python names or are computed."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType


def make_type(
    name: str,
    meaning: str,
    fields: Mapping[str, tuple[Any, str]],
    *,
    required: Collection[str] = (),
) -> type[msgspec.Struct]:
    """Make the type of an object with these keys and no others; each has a type and a meaning."""
    attributes = {key: f"field_{place}" for place, key in enumerate(fields)}
    declared: list[Any] = []
    for key, (kind, description) in fields.items():
        annotated: Any = Annotated[kind, Meta(description=description)]
        optional = (attributes[key], annotated | UnsetType, UNSET)
        declared.append((attributes[key], annotated) if key in required else optional)
    return msgspec.defstruct(
        name,
        declared,
        rename={attribute: key for key, attribute in attributes.items()},
        forbid_unknown_fields=True,
        kw_only=True,
        namespace={"__doc__": meaning},
    )
