"""Many conversations over one set of hooks, each with its own id and labels."""

from hookline import BeforeToolEvent, Hooks, HookSession, Reply, SessionStartEvent, SyncHooks, deny

hooks = Hooks()
seen: list[str] = []


@hooks.on("SessionStart", matcher="startup")
def note(event: SessionStartEvent) -> None:
    seen.append(event["session_id"])


@hooks.on("BeforeTool")
def by_user(event: BeforeToolEvent) -> Reply | None:
    agent = event.get("agent")
    if agent is not None and agent["depth"] > 2:
        return deny(f"{agent['name']} is too deep")
    return None if event.get("labels", {}).get("user") == "ada" else deny("who are you?")


def serve(user: str) -> bool:
    session: HookSession = hooks.session(f"chat-{user}", labels={"user": user})
    chat: SyncHooks = session.sync
    chat.session_start("startup")
    return chat.before_tool("shell", {"command": "ls"}).blocked


with hooks:
    assert [serve("ada"), serve("eve")] == [False, True]
assert seen == ["chat-ada", "chat-eve"]
