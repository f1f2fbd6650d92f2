"""Every reply, and dictionaries in their place."""

from hookline import (
    Hooks,
    PreCompressEvent,
    Reply,
    add_context,
    allow,
    ask,
    combine,
    deny,
    message,
    only_tools,
    replace_answer,
    replace_result,
    rewrite,
    stop,
)

hooks = Hooks()
replies: list[Reply] = [
    allow(),
    deny("no"),
    ask("sure?"),
    stop("enough"),
    rewrite(command="ls"),
    add_context("mind the tests"),
    replace_result("[hidden]"),
    replace_answer("[hidden]"),
    only_tools("read", "list"),
    message("hello"),
    combine(rewrite(command="ls"), message("rewritten")),
    {"decision": "block", "reason": "no", "suppressOutput": True},
    {"hookSpecificOutput": {"tailToolCallRequest": {"name": "test", "args": {}}}},
]


@hooks.on("PreCompress")
def keep(_event: PreCompressEvent) -> Reply:
    reply: Reply = {"hookSpecificOutput": {"keepHistory": True}}
    return combine(reply, message("kept"))


assert hooks.sync.pre_compress().keep_history
