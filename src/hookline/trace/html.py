"""A self-contained page of events: it can be mailed, kept, and opened without a network.

Hooks' output is embedded as JSON in which no character can end a script, and the page's script
inserts it only as text; the content policy allows no other script and no loading.
"""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec import structs

from hookline.pipeline.answer import TONES
from hookline.trace.events import DECISIONS, TracedEvent
from hookline.trace.queries import latencies
from hookline.wire import codec

_FOLDER = os.path.join(os.path.dirname(__file__), "page")
_SCRIPTS = ("events.js", "list.js", "timeline.js", "compare.js", "details.js", "page.js")
# In JSON these occur only inside strings, where an escape means the same.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
# Characters that change the direction of text, or are not seen, are written as escapes, so that
# people see them.
_UNSEEN = "[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"


def page(events: Sequence[TracedEvent], *, total: int) -> bytes:
    """Return the page of these events, in this order; ``total`` counts those left out too."""
    data = {
        "events": events,
        "changes": list(_find_changes(events)),
        "hooks": latencies(events),
        "total": total,
        "decisions": DECISIONS,
        "tones": TONES,
    }
    style, script = _read_file("page.css"), "\n".join(map(_read_file, _SCRIPTS))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash_text(style)}'; script-src '{_hash_text(script)}'"
    )
    text = codec.encode(data).decode()
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    text = re.sub(_UNSEEN, lambda match: f"\\\\u{ord(match[0]):04x}", text)
    parts = {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": text}
    # In one pass, so that placeholders inside inserted text stay as they are.
    return re.sub("%([A-Z]+)%", lambda match: parts[match[1]], _read_file("page.html")).encode()


def _find_changes(events: Sequence[TracedEvent]) -> Iterator[dict[str, object]]:
    """Yield what hooks changed, by the index of the event and of the hook; without a hook index
    it is the change of all hooks together."""
    for place, event in enumerate(events):
        for number, run in enumerate(event.hooks):
            if run.effects and (change := event.find_change(run)) is not None:
                yield {"event": place, "hook": number, **structs.asdict(change)}
        if len(event.hooks) != 1 and event.effects and (change := event.find_change()) is not None:
            yield {"event": place, **structs.asdict(change)}


def _read_file(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _hash_text(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
