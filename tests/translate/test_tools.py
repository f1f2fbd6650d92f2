"""Tool configs both ways, and what a request says of its tools."""

from typing import Any

import pytest
from google.genai import types

from hookline.errors import TranslationError
from hookline.translate.genai import GenerateContentParameters
from tests.translate.forms import Form, as_json, in_both_forms, translator

TOOLS = [{"functionDeclarations": [{"name": "fs_read"}, {"name": "fs_write"}]}]


@in_both_forms
def test_a_tool_config_keeps_what_the_hook_does_not_name(form: Form) -> None:
    base = form.tool_config(
        {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {"languageCode": "de"}}
    )
    edited = translator.from_hook_tool_config({"allowedFunctionNames": ["a"]}, base)
    assert as_json(edited) == {
        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]},
        "retrievalConfig": {"languageCode": "de"},
    }
    assert type(edited) is type(base)
    assert translator.to_hook_tool_config(edited) == {
        "mode": "ANY",
        "allowedFunctionNames": ["a"],
    }


@in_both_forms
def test_an_untouched_tool_config_is_the_very_same(form: Form) -> None:
    base = form.tool_config({"functionCallingConfig": {"mode": "ANY"}})
    assert translator.from_hook_tool_config(translator.to_hook_tool_config(base), base) is base
    assert translator.from_hook_tool_config({"mode": None}, base) is base
    assert translator.to_hook_tool_config(None) == {}


@pytest.mark.parametrize(
    ("like", "kind"),
    [
        (None, dict),
        ({"model": "m", "config": {"tools": TOOLS}}, dict),
        (GenerateContentParameters("m"), types.ToolConfig),
        (GenerateContentParameters("m", "q", types.GenerateContentConfig()), types.ToolConfig),
        (GenerateContentParameters("m", "q", {"tools": TOOLS}), dict),
    ],
)
def test_without_a_base_the_tool_config_fits_the_request(like: object, kind: type[Any]) -> None:
    made = translator.from_hook_tool_config({"mode": "NONE", "allowedFunctionNames": []}, like=like)
    assert type(made) is kind
    assert translator.to_hook_tool_config(made) == {"mode": "NONE", "allowedFunctionNames": []}
    types.ToolConfig.model_validate(made)


@pytest.mark.parametrize("base", [{}, "auto", {"type": "auto"}], ids=str)
@pytest.mark.parametrize(
    "hook", [5, {"mode": 5}, {"mode": "X"}, {"mode": ""}, {"allowedFunctionNames": [1]}], ids=str
)
def test_a_malformed_tool_config_is_refused(hook: Any, base: Any) -> None:
    with pytest.raises(TranslationError):
        translator.from_hook_tool_config(hook, base)


def test_what_is_no_tool_config_is_refused() -> None:
    with pytest.raises(TranslationError):
        translator.to_hook_tool_config(5)
    with pytest.raises(TranslationError):
        translator.from_hook_tool_config({"mode": "ANY"}, 5)


@in_both_forms
def test_the_names_of_declared_tools_are_listed_in_order(form: Form) -> None:
    """Gemini's own tools have the names of their fields, so that hooks can allow them."""
    tools = [*TOOLS, {"googleSearch": {}, "codeExecution": {}}, TOOLS[0]]
    request = form.request({"model": "m", "contents": "q", "config": {"tools": tools}})
    assert translator.tool_names(request) == [
        *("fs_read", "fs_write", "google_search", "code_execution")
    ]


@in_both_forms
@pytest.mark.parametrize("config", [None, {}, {"tools": []}, {"tools": [{}]}])
def test_a_request_that_declares_no_tools_has_no_tool_names(form: Form, config: Any) -> None:
    request = form.request({"model": "m", "contents": "q", "config": config})
    assert translator.tool_names(request) is None


def test_python_functions_are_tools_by_their_name() -> None:
    search = types.Tool(google_search=types.GoogleSearch())
    config = types.GenerateContentConfig(tools=[len, search])
    request = GenerateContentParameters("m", "q", config)
    assert translator.tool_names(request) == ["len", "google_search"]


@in_both_forms
def test_tools_that_hooks_take_away_leave_the_request(form: Form) -> None:
    searches: Any = {"googleSearch": {}, "functionDeclarations": [{"name": "db_query"}]}
    config = {"tools": [*TOOLS, searches, {"codeExecution": {}}], "temperature": 0.5}
    request = form.request({"model": "m", "contents": "q", "config": config})

    def restrict(*names: str) -> Any:
        change = {"toolConfig": {"mode": "ANY", "allowedFunctionNames": [*names]}}
        return as_json(translator.from_hook_llm_request(change, request))["config"]

    assert restrict("fs_read", "google_search") == {
        "temperature": 0.5,
        "tools": [{"functionDeclarations": [{"name": "fs_read"}]}, {"googleSearch": {}}],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["fs_read"]}
        },
    }
    # The API refuses a mode if no function is declared.
    assert restrict("code_execution") == {"temperature": 0.5, "tools": [{"codeExecution": {}}]}
    nothing = {"functionCallingConfig": {"mode": "NONE", "allowedFunctionNames": []}}
    assert restrict() == {"temperature": 0.5, "tools": [], "toolConfig": nothing}


@in_both_forms
def test_the_tool_selection_is_the_requests_own(form: Form) -> None:
    calling = {"functionCallingConfig": {"mode": "ANY"}}
    config = {"tools": TOOLS, "toolConfig": calling}
    tool_config, tools = translator.tool_selection(
        form.request({"model": "m", "contents": "q", "config": config})
    )
    assert (as_json(tool_config), as_json(tools)) == (calling, TOOLS)
    assert translator.tool_selection(form.request({"model": "m"})) == (None, None)


def test_tools_that_are_no_list_are_refused() -> None:
    with pytest.raises(TranslationError):
        translator.tool_names({"model": "m", "config": {"tools": 5}})


def restricted(request: Any, mode: str, *names: str) -> Any:
    change = {"toolConfig": {"mode": mode, "allowedFunctionNames": list(names)}}
    edited = translator.from_hook_llm_request(change, request)
    return translator.to_hook_llm_request(edited).get("toolConfig")


@in_both_forms
@pytest.mark.parametrize("mode", ["ANY", "AUTO"])
def test_names_that_a_request_does_not_declare_are_not_sent(form: Form, mode: str) -> None:
    request = form.request({"model": "m", "contents": "q", "config": {"tools": TOOLS}})
    only = {"mode": mode, "allowedFunctionNames": ["fs_read"]}
    assert restricted(request, mode, "db_query", "fs_read") == only
    nothing = {"mode": "NONE", "allowedFunctionNames": []}
    assert restricted(request, mode, "db_query") == nothing
    none_declared = form.request({"model": "m", "contents": "q"})
    assert restricted(none_declared, mode, "fs_read") == nothing
    searches: Any = {"tools": [{"googleSearch": {}}]}
    no_function = form.request({"model": "m", "contents": "q", "config": searches})
    assert restricted(no_function, mode, "fs_read") == nothing


@in_both_forms
def test_a_requests_own_names_are_left_alone(form: Form) -> None:
    calling = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["elsewhere"]}}
    config = {"tools": TOOLS, "toolConfig": calling}
    request = form.request({"model": "m", "contents": "q", "config": config})
    shown = translator.to_hook_llm_request(request)
    assert translator.from_hook_llm_request(shown, request) is request


def test_names_are_sent_where_nobody_can_say_what_is_declared() -> None:
    class Session:
        """Stands for an MCP session, which lists its tools when it is asked."""

    servers = [{"mcpServers": [{"name": "files"}]}]
    for tools in ([Session()], [*TOOLS, Session()], servers):
        config = {"tools": tools}
        request = {"model": "m", "contents": "q", "config": config}
        kept = {"mode": "ANY", "allowedFunctionNames": ["remote"]}
        assert restricted(request, "ANY", "remote") == kept
