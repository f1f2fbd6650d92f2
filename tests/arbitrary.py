"""Strategies for what a careless or hostile caller may hand in: JSON of any shape, and worse."""

from hypothesis import strategies as st

from tests.eleven import FIRINGS

# A few characters that have been trouble somewhere, a lone surrogate among them.
TEXT = st.text(st.sampled_from('aB_*|.[ \t\n\0"\\é€😀\ud800\ufeff'), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("tool_name", "tool_input", "tool_response", "prompt", "prompt_response"),
        *("model_request", "llm_request", "model_response", "available_tools", "stop_hook_active"),
        *("source", "reason", "trigger", "message", "notification_type", "level", "details"),
        *("session_id", "transcript_path", "cwd", "timestamp", "hook_event_name"),
    ]
)
NOT_JSON = (
    st.builds(object) | st.binary(max_size=3) | st.sets(st.integers(), max_size=2) | st.just(1j)
)
JSON_PAYLOADS = (
    st.dictionaries(FIELDS | TEXT, JSON, max_size=6)
    | st.sampled_from([firing.payload for firing in FIRINGS])
    | JSON
)
PAYLOADS = JSON_PAYLOADS | st.dictionaries(FIELDS, JSON | NOT_JSON, max_size=6)
