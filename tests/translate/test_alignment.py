"""The alignment by itself, over the smallest form of messages there is."""

from hypothesis import given
from hypothesis import strategies as st

from hookline.translate.alignment import edit_messages, show_messages
from hookline.wire.model import MessageChange, Role

# Who speaks, what hooks are shown of it, and what the message holds besides.
Message = tuple[Role, str, str]


class TupleForm:
    def role(self, message: Message) -> Role:
        return message[0]

    def text(self, message: Message) -> str:
        return message[1]

    def with_text(self, message: Message, role: Role, text: str) -> Message:
        return (role, text, message[2])

    def without_text(self, message: Message) -> Message | None:
        return (message[0], "", message[2]) if message[2] else None

    def new(self, role: Role, text: str) -> Message:
        return (role, text, "")


FORM = TupleForm()
CALL: Message = ("model", "", "call")
ANSWER: Message = ("user", "", "answer")
roles: st.SearchStrategy[Role] = st.sampled_from(["user", "model", "system"])
texts = st.sampled_from(["a", "b", "c"])


def test_an_edit_changes_the_message_it_names_and_a_removal_leaves_what_is_not_shown() -> None:
    before: list[Message] = [("user", "a", "image"), CALL, ANSWER, ("model", "b", "")]
    assert edit_messages(before, [MessageChange("A"), MessageChange("b", "model")], FORM) == [
        ("user", "A", "image"),
        *before[1:],
    ]
    assert edit_messages(before, [], FORM) == [("user", "", "image"), CALL, ANSWER]


def test_an_addition_stands_before_the_next_message_shown() -> None:
    before: list[Message] = [("user", "a", ""), CALL, ANSWER, ("model", "b", "")]
    wanted = [MessageChange("a"), MessageChange("new"), MessageChange("b", "model")]
    after = edit_messages(before, wanted, FORM)
    assert after == [*before[:3], ("user", "new", ""), before[3]]


@given(
    before=st.lists(st.tuples(roles, texts | st.just(""), st.sampled_from(["", "x", "y"]))),
    wanted=st.lists(st.builds(MessageChange, texts, roles)),
)
def test_hooks_would_be_shown_what_they_asked_for_and_the_rest_stays_in_its_order(
    before: list[Message], wanted: list[MessageChange]
) -> None:
    after = edit_messages(before, wanted, FORM)
    shown = [(message["role"], message["content"]) for message in show_messages(after, FORM)]
    assert shown == [(change.role, change.content) for change in wanted]
    assert [more for *_, more in after if more] == [more for *_, more in before if more]


def test_edits_all_over_a_long_conversation_of_few_texts_are_found_at_once() -> None:
    before: list[Message] = [("user", "yes", str(n)) for n in range(4000)]
    wanted = [MessageChange("no" if n % 10 == 0 else "yes") for n in range(4000)]
    assert edit_messages(before, wanted, FORM) == [
        ("user", each.content, str(n)) for n, each in enumerate(wanted)
    ]
    with_one_more = [*[MessageChange("yes")] * 4000, MessageChange("no")]
    assert edit_messages(before, with_one_more, FORM) == [*before, ("user", "no", "")]
