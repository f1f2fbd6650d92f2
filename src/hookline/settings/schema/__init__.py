"""JSON Schema of settings, events and answers, and the same as rows for the reference.

All of it is made from the types in ``settings/types.py``, ``wire/hooks.py``, ``schema/events.py``
and ``wire/inputs.py``. Firing an event loads none of this.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias, get_type_hints, is_typeddict

import msgspec

from hookline._support.nearest import nearest
from hookline.dialects import list_foreign
from hookline.errors import UnknownEventError
from hookline.settings.schema.events import INPUTS, MODEL_MEANINGS, make_output_type
from hookline.settings.types import HooksSection, Settings
from hookline.wire.events import HookEventName
from hookline.wire.hooks import KINDS, keys_of

__all__ = [
    "COMMENTS",
    "Field",
    "KeyRow",
    "Schema",
    "describe_input",
    "describe_output",
    "describe_settings",
    "event_schema",
    "find_event",
    "render",
    "settings_schema",
    "write_schema",
]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SITE = "https://hookline.github.io/hookline/"
# Keys for comments in settings; nothing reads them.
COMMENTS = r"^(//|\$comment|_comment)"

Schema: TypeAlias = dict[str, Any]

_LAYERS = "x-layers"
_REFERENCE = "#/$defs/"
_TYPE_OF_HOOK = (
    "What the hook is: command is a process, http a server that gets the event, prompt a "
    "question to a model."
)
_NAMES = {"boolean": "boolean", "integer": "number", "number": "number", "string": "string"}


class KeyRow(NamedTuple):
    """A key of the settings, for people: ``EVENT``, ``TOOL`` and the like in its path stand for any
    name."""

    path: str
    type: str
    default: str
    layers: str
    meaning: str


class Field(NamedTuple):
    """A field of what a hook reads or answers, for people; the names of nested ones are dotted."""

    name: str
    type: str
    required: bool
    meaning: str


def settings_schema() -> Schema:
    """Make the JSON Schema of a settings file."""
    schema = render(
        Settings,
        title="Settings of hookline",
        description="Which hooks run on which events of an AI agent.",
        name="settings",
    )
    defs = schema["$defs"]
    # msgspec types cannot describe the values of other keys.
    kinds = defs["HooksSection"]["properties"]["tools"]["anyOf"]
    (aliases,) = (kind for kind in kinds if kind["type"] == "object")
    defs["ToolsSection"]["additionalProperties"] = aliases["additionalProperties"]
    for name, component in defs.items():
        # Not in ``hooks``, where such a key would be read as an event.
        if component.get("additionalProperties") is False and name != HooksSection.__name__:
            component["patternProperties"] = {COMMENTS: {}}
    return schema


def event_schema(name: str) -> Schema:
    """Make the JSON Schema of an event, by any name of it: ``$defs`` has ``input``, what
    a hook reads, and ``output``, what it may answer. Raises UnknownEventError."""
    event = find_event(name)
    _, defs = _make_components(INPUTS[event], make_output_type(event))
    defs["input"] = defs.pop(INPUTS[event].__name__)
    defs["output"] = defs.pop(f"{event.value}Output")
    return {
        **_make_head(
            f"The event {event.value}",
            "What a hook reads is #/$defs/input, what it may answer is #/$defs/output.",
            f"events/{event.value}",
        ),
        "$defs": _finish_schema(defs),
    }


def render(type_: Any, *, title: str, description: str = "", name: str = "") -> Schema:
    """Make the JSON Schema of a type; ``name`` is its place on the site."""
    root, defs = _make_components(type_)
    schema: Schema = {**_make_head(title, description, name), **_finish_schema(root)}
    return {**schema, "$defs": _finish_schema(defs)} if defs else schema


def write_schema(schema: Schema) -> str:
    """Write a schema as text, in ASCII so that every terminal and editor can show it."""
    import json

    return json.dumps(schema, indent=2) + "\n"


def describe_settings() -> tuple[KeyRow, ...]:
    """Describe every key of a settings file, in the order of the types."""
    root, defs = _make_components(Settings)
    events = "|".join(HookEventName)
    kinds: dict[str, list[str]] = {}
    for name, hook in KINDS.items():
        for key in keys_of(hook):
            kinds.setdefault(key, []).append(name)
    rows: dict[str, KeyRow] = {}
    for path, node, is_required in _find_properties(root, defs):
        path = re.sub(rf"^hooks\.({events})\[\]", "hooks.EVENT[]", path)
        if path in rows:
            continue
        default = _write_json(node["default"]) if "default" in node else "none"
        meaning, kind = node["description"], _name_type(node, defs)
        above, _, key = path.rpartition(".")
        if above == "hooks.EVENT[].hooks[]":
            if key == "type":
                kind = _list_words([_write_json(name) for name in KINDS])
            elif len(kinds[key]) < len(KINDS):
                meaning = f"For {' and '.join(kinds[key])} hooks. {meaning}"
        default = "required" if is_required else default
        rows[path] = KeyRow(path, kind, default, node.get(_LAYERS, "every layer"), meaning)
    return tuple(rows.values())


def describe_input(name: str) -> tuple[Field, ...]:
    """Describe every field that a hook reads of an event; raises UnknownEventError."""
    return _describe_fields(INPUTS[find_event(name)])


def describe_output(name: str) -> tuple[Field, ...]:
    """Describe every field of an answer to an event; raises UnknownEventError."""
    return _describe_fields(make_output_type(find_event(name)))


def find_event(name: str) -> HookEventName:
    """Return our event for one of our names, or another dialect's; raises UnknownEventError."""
    names = [event.value for event in HookEventName]
    if name in names:
        return HookEventName(name)
    foreign = list_foreign_names()
    if name not in foreign:
        raise UnknownEventError(name, nearest(name, [*names, *foreign]))
    return foreign[name]


def list_foreign_names() -> dict[str, HookEventName]:
    """Return our event for each name that another dialect has for it, where they differ."""
    names = ((each, name) for each in list_foreign() for name in each.event_names())
    events = {name: dialect.event_for(name) for dialect, name in names}
    return {n: e for n, e in events.items() if isinstance(e, HookEventName) and n != e.value}


def _describe_fields(type_: Any) -> tuple[Field, ...]:
    root, defs = _make_components(type_)
    return tuple(
        Field(path, _name_type(node, defs), is_required, node["description"])
        for path, node, is_required in _find_properties(root, defs)
    )


def _make_head(title: str, description: str, name: str) -> Schema:
    head = {"$schema": DRAFT, "$id": f"{SITE}schema/{name}.json" if name else ""}
    head |= {"title": title, "description": description}
    return {key: value for key, value in head.items() if value}


def _make_components(*types: Any) -> tuple[Schema, dict[str, Schema]]:
    """Make the schema of the first type, and those that the types refer to, with the keys in the
    order of the type, and their meanings."""
    (root, *_), defs = msgspec.json.schema_components(types, ref_template=_REFERENCE + "{name}")
    meanings = {kind.__name__: fields for kind, fields in MODEL_MEANINGS.items()}
    meanings |= {kind.__name__: {"type": _TYPE_OF_HOOK} for kind in KINDS.values()}
    for hook in KINDS.values():
        if hook.__name__ in defs:
            defs[hook.__name__]["properties"] = _keep_declared(hook, defs)
    for kind in filter(is_typeddict, types):
        # msgspec sorts the fields of a TypedDict.
        properties = defs[kind.__name__]["properties"]
        order = get_type_hints(kind)
        defs[kind.__name__]["properties"] = {key: properties[key] for key in order}
    for name, component in defs.items():
        properties = component.get("properties", {})
        described = {
            key: {"description": meaning, **properties[key]}
            for key, meaning in meanings.get(name, {}).items()
        }
        component["properties"] = described | {
            key: schema for key, schema in properties.items() if key not in described
        }
    return root, defs


def _keep_declared(hook: type[msgspec.Struct], defs: dict[str, Schema]) -> Schema:
    """Return the properties of a hook that settings write. The engine adds others, and has null for
    what is left out."""
    declared: Schema = {}
    for name, node in defs[hook.__name__]["properties"].items():
        branches = [each for each in node.get("anyOf", ()) if each.get("type") != "null"]
        if name == "type" or name in keys_of(hook):
            if node.get("default", 0) in (None, ""):
                node = {key: value for key, value in node.items() if key != "default"}
            if len(branches) == 1:
                node = {**branches[0], **{k: value for k, value in node.items() if k != "anyOf"}}
            declared[name] = node
        else:
            for each in (node, *branches):
                defs.pop(each.get("$ref", "").removeprefix(_REFERENCE), None)
    return declared


def _finish_schema(node: Any) -> Any:
    """Return the schema for users: without keys that only the reference reads, and with hooks
    chosen by their type, so that a validator names the mistake instead of "none of three fits"."""
    if isinstance(node, list | tuple):
        return [_finish_schema(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: _finish_schema(value) for key, value in node.items() if key != _LAYERS}
    if "discriminator" in node:
        key, kinds = node["discriminator"]["propertyName"], node["discriminator"]["mapping"]
        chosen = [
            {"if": {"properties": {key: {"const": tag}}, "required": [key]}, "then": {"$ref": kind}}
            for tag, kind in kinds.items()
        ]
        of_kind = {"description": _TYPE_OF_HOOK, "enum": [*kinds]}
        node = {name: part for name, part in node.items() if name not in ("anyOf", "discriminator")}
        node |= {"type": "object", "properties": {key: of_kind}, "required": [key], "allOf": chosen}
    return node


def _find_properties(
    node: Schema, defs: dict[str, Schema], path: str = ""
) -> Iterator[tuple[str, Schema, bool]]:
    """Yield every property below a schema, with its dotted path and whether it is required."""
    for branch in _find_branches(node, defs):
        prefix = f"{path}." if path else ""
        properties = branch.get("properties", {})
        for key, schema in properties.items():
            yield prefix + key, schema, key in branch.get("required", ())
        for key, schema in properties.items():
            yield from _find_properties(schema, defs, prefix + key)
        if "items" in branch:
            yield from _find_properties(branch["items"], defs, f"{path}[]")
        if isinstance(branch.get("additionalProperties"), dict):
            yield from _find_properties(branch["additionalProperties"], defs, f"{path}.NAME")


def _find_branches(node: Schema, defs: dict[str, Schema]) -> Iterator[Schema]:
    """Yield the schemas that a value may have: the schema itself, or its alternatives."""
    if "anyOf" in node:
        for each in node["anyOf"]:
            yield from _find_branches(each, defs)
    elif "$ref" in node:
        yield from _find_branches(defs[node["$ref"].removeprefix(_REFERENCE)], defs)
    else:
        yield node


def _name_type(node: Schema, defs: dict[str, Schema]) -> str:
    """Describe the type of a value in words."""
    words: dict[str, None] = {}
    for branch in _find_branches(node, defs):
        kind = branch.get("type")
        if "enum" in branch:
            words.update(dict.fromkeys(_write_json(each) for each in branch["enum"]))
        elif kind == "array":
            items = _name_type(branch.get("items", {}), defs)
            words[f"list of {items}s" if items.isalpha() else f"list ({items})"] = None
        elif kind == "object":
            additional = branch.get("additionalProperties")
            item_type = (
                _name_type(additional, defs) if isinstance(additional, dict) and additional else ""
            )
            words[f"object of {item_type}s" if item_type.isalpha() else "object"] = None
        elif kind != "null":
            words[_NAMES.get(str(kind), "any value")] = None
    return _list_words([*words])


def _write_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _list_words(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
