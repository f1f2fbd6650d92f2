"""Responses both ways: a candidate's visible texts, and what the hook format has beside them.

The candidates a hook names are all there are to be, matched by position: one it leaves out is an
alternative taken away, one it adds is new.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hookline.errors import TranslationError
from hookline.translate.genai_forms import (
    Form,
    build,
    enum_word,
    field,
    form_of,
    is_typed,
    list_field,
    object_field,
    objects_field,
    shown,
    with_fields,
)
from hookline.translate.genai_parts import check_parts, put_texts, visible_texts
from hookline.wire.model import (
    CandidateChange,
    ContentChange,
    LLMCandidate,
    LLMResponse,
    LLMResponseChange,
    LLMSafetyRating,
    LLMUsage,
    SafetyRatingChange,
    UsageChange,
)

_RATING_ENUMS = {"category": "HarmCategory", "probability": "HarmProbability"}


def check_response(value: object) -> None:
    """Raises TranslationError for a value that is no response in any form."""
    if not isinstance(value, Mapping) and not is_typed(value, "GenerateContentResponse"):
        raise TranslationError(f"a model response cannot be {type(value).__name__}")


def empty_response(form: Form) -> Any:
    """A response that says nothing yet."""
    return build(form, "GenerateContentResponse", {})


def show_response(response: object) -> LLMResponse:
    """The response in the hook format."""
    check_response(response)
    candidates = [_show_candidate(candidate) for candidate in objects_field(response, "candidates")]
    seen: LLMResponse = {"candidates": candidates}
    if candidates and candidates[0]["content"]["parts"]:
        seen = {"text": "".join(candidates[0]["content"]["parts"]), "candidates": candidates}
    usage = object_field(response, "usageMetadata")
    if usage is not None:
        seen["usageMetadata"] = cast(LLMUsage, shown(usage, UsageChange))
    return seen


def edit_response(response: Any, change: LLMResponseChange, *, form: Form) -> Any:
    """The response with what the change names; itself when that changes nothing."""
    check_response(response)
    candidates = objects_field(response, "candidates")
    edited = _edit_candidates(candidates, change.candidates, form)
    if edited is candidates and change.text is not None:
        edited = _edit_first_text(candidates, change.text, form)
    changes: dict[str, Any] = {}
    if edited is not candidates:
        changes["candidates"] = edited
        if field(response, "parsed") is not None and _first_text(edited) != _first_text(candidates):
            # The SDK made it from the text, so it would still say what a hook took out.
            changes["parsed"] = None
    usage = object_field(response, "usageMetadata")
    new = _edit_usage(usage, change.usage_metadata, form)
    if new is not usage:
        changes["usageMetadata"] = new
    return _changed(response, changes, form)


def _edit_candidates(
    candidates: list[Any], changes: Sequence[CandidateChange] | None, form: Form
) -> list[Any]:
    if changes is None:
        return candidates
    known = list(zip(candidates, changes, strict=False))
    edited = [_edit_candidate(candidate, change, form) for candidate, change in known]
    added = [_new_candidate(change, form) for change in changes[len(candidates) :]]
    same = len(changes) == len(candidates) and all(
        new is old for new, old in zip(edited, candidates, strict=True)
    )
    return candidates if same else [*edited, *added]


def _edit_first_text(candidates: list[Any], text: str, form: Form) -> list[Any]:
    if candidates and text == _first_text(candidates):
        return candidates
    change = CandidateChange(content=ContentChange(parts=[text]))
    if not candidates:
        return [_new_candidate(change, form)]
    return [_edit_candidate(candidates[0], change, form), *candidates[1:]]


def _new_candidate(change: CandidateChange, form: Form) -> Any:
    content = build(form, "Content", {"role": "model", "parts": []})
    return _edit_candidate(build(form, "Candidate", {"content": content}), change, form)


def _edit_candidate(candidate: Any, change: CandidateChange, form: Form) -> Any:
    form = form_of(candidate, form)
    changes: dict[str, Any] = {}
    content = object_field(candidate, "content")
    new = _edit_content(content, change.content, form)
    if new is not content:
        changes["content"] = new
    seen = shown(candidate, CandidateChange, ("finishReason", "index"))
    if change.finish_reason is not None and change.finish_reason != seen.get("finishReason"):
        changes["finishReason"] = enum_word(form, "FinishReason", change.finish_reason)
    if change.index is not None and change.index != seen.get("index"):
        changes["index"] = change.index
    ratings = objects_field(candidate, "safetyRatings")
    if change.safety_ratings is not None and not _rated_alike(ratings, change.safety_ratings):
        changes["safetyRatings"] = _edit_ratings(ratings, change.safety_ratings, form)
    return _changed(candidate, changes, form)


def _edit_content(content: Any, change: ContentChange | None, form: Form) -> Any:
    if change is None or change.parts is None:
        return content
    parts = _parts(content)
    if change.parts == visible_texts(parts):
        return content
    new = put_texts(parts, change.parts, form=form)
    if content is None:
        return build(form, "Content", {"role": "model", "parts": new})
    return with_fields(content, {"parts": new}, form=form)


def _edit_ratings(ratings: list[Any], changes: Sequence[SafetyRatingChange], form: Form) -> Any:
    added = [build(form, "SafetyRating", {}) for _ in changes[len(ratings) :]]
    pairs = zip([*ratings, *added], changes, strict=False)
    return [_edit_rating(rating, change, form) for rating, change in pairs]


def _edit_rating(rating: Any, change: SafetyRatingChange, form: Form) -> Any:
    seen = _show_rating(rating)
    changes = {
        name: enum_word(form, _RATING_ENUMS[name], word)
        for name, word in change.named().items()
        if word != seen[name]  # type: ignore[literal-required]
    }
    return _changed(rating, changes, form)


def _edit_usage(usage: Any, change: UsageChange | None, form: Form) -> Any:
    named = change.named() if change is not None else {}
    seen = shown(usage, UsageChange)
    changes = {name: count for name, count in named.items() if seen.get(name) != count}
    if usage is None and changes:
        return build(form, "GenerateContentResponseUsageMetadata", changes)
    return _changed(usage, changes, form)


def _changed(value: Any, changes: dict[str, Any], form: Form) -> Any:
    return with_fields(value, changes, form=form) if changes else value


def _show_candidate(candidate: object) -> LLMCandidate:
    parts = visible_texts(_parts(object_field(candidate, "content")))
    seen = shown(candidate, CandidateChange, ("finishReason", "index"))
    shown_candidate: LLMCandidate = {"content": {"role": "model", "parts": parts}}
    if "finishReason" in seen:
        shown_candidate["finishReason"] = seen["finishReason"]
    if "index" in seen:
        shown_candidate["index"] = seen["index"]
    if field(candidate, "safetyRatings") is not None:
        ratings = objects_field(candidate, "safetyRatings")
        shown_candidate["safetyRatings"] = [_show_rating(rating) for rating in ratings]
    return shown_candidate


def _show_rating(rating: object) -> LLMSafetyRating:
    seen = shown(rating, SafetyRatingChange)
    return {"category": seen.get("category", ""), "probability": seen.get("probability", "")}


def _rated_alike(ratings: list[Any], changes: Sequence[SafetyRatingChange]) -> bool:
    """Whether the hook names the ratings it was shown."""
    seen = [dict(_show_rating(rating)) for rating in ratings]
    return len(seen) == len(changes) and all(
        old | change.named() == old for old, change in zip(seen, changes, strict=True)
    )


def _parts(content: object) -> list[Any]:
    parts = list_field(content, "parts")
    check_parts(parts)
    return parts


def _first_text(candidates: list[Any]) -> str:
    return "".join(visible_texts(_parts(field(candidates[0], "content")))) if candidates else ""
