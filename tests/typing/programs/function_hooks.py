"""Functions as hooks, plain and inline, with the types of events and replies."""

from hookline import AfterToolEvent, BeforeToolEvent, Hooks, Reply, deny, map_text

hooks = Hooks()


@hooks.on("BeforeTool", matcher="shell", inline=True)
def no_force(event: BeforeToolEvent) -> Reply | None:
    command: str = event["tool_input"]["command"]
    return deny("use --force-with-lease") if "--force" in command else None


@hooks.on("BeforeTool", on_failure="block", timeout=500)
def only_for_ops(event: BeforeToolEvent) -> Reply | None:
    labels = event.get("labels", {})
    return None if labels.get("team", "ops") == "ops" else deny("not for you")


@hooks.on("AfterTool")
def hide_keys(event: AfterToolEvent) -> Reply | None:
    return map_text(event, lambda text: text.replace("AKIA77AB", "[key]"))


answer = hooks.sync.before_tool("shell", {"command": "git push --force"})
assert answer.blocked
assert answer.reason == "use --force-with-lease"
