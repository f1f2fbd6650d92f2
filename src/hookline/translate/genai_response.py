"""Gemini responses both ways: a candidate's visible texts, and what the hook format has beside
them.

The candidates a hook names are all there are to be, matched by position: one it leaves out is an
alternative taken away, one it adds is new.
"""

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any, cast

from hookline.errors import TranslationError
from hookline.translate.genai_values import (
    Form,
    build,
    changed_fields,
    enum_word,
    field,
    form_of,
    is_typed,
    object_field,
    objects_field,
    parts_field,
    put_texts,
    read_change,
    set_fields,
    show_fields,
    visible_texts,
    with_fields,
)
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
    read_llm_response,
)

_RATING_ENUMS = {"category": "HarmCategory", "probability": "HarmProbability"}


def show_response(response: object) -> LLMResponse:
    """The response in the hook format."""
    _check_response(response)
    candidates = [_show_candidate(candidate) for candidate in objects_field(response, "candidates")]
    shown: LLMResponse = {"candidates": candidates}
    if candidates and candidates[0]["content"]["parts"]:
        shown = {"text": "".join(candidates[0]["content"]["parts"]), "candidates": candidates}
    usage = object_field(response, "usageMetadata")
    if usage is not None:
        shown["usageMetadata"] = cast(LLMUsage, show_fields(usage, UsageChange))
    return shown


def edit_response(response: Any, hook: object, *, like: object) -> Any:
    """The response, or a new one like the other, with what the hook names; itself when that
    changes nothing."""
    change = read_change(read_llm_response, "llm_response", hook)
    return _edit(_new_response(like) if response is None else response, change)


def make_response(text: str, *, like: object) -> Any:
    """A finished response of one candidate with this text, in the form of the other."""
    content = ContentChange(parts=[text])
    candidate = CandidateChange(content=content, finish_reason="STOP", index=0)
    return _edit(_new_response(like), LLMResponseChange(candidates=[candidate]))


def _new_response(like: object) -> Any:
    is_typed_form = form_of(like, "camel") == "typed"
    return build("typed" if is_typed_form else "camel", "GenerateContentResponse", {})


def _check_response(value: object) -> None:
    if not isinstance(value, Mapping) and not is_typed(value, "GenerateContentResponse"):
        raise TranslationError(f"a model response cannot be {type(value).__name__}")


def _edit(response: Any, change: LLMResponseChange) -> Any:
    _check_response(response)
    form = form_of(response, "camel")
    candidates = objects_field(response, "candidates")
    edited = candidates
    if change.candidates is not None:
        edited = _edit_candidates(candidates, change.candidates, form)
    is_first_text = bool(candidates) and change.text == _first_text(candidates)
    if edited is candidates and change.text is not None and not is_first_text:
        first = CandidateChange(content=ContentChange(parts=[change.text]))
        others = [CandidateChange()] * (len(candidates) - 1)
        edited = _edit_candidates(candidates, [first, *others], form)
    changes: dict[str, Any] = {}
    if edited is not candidates:
        changes["candidates"] = edited
        if field(response, "parsed") is not None and _first_text(edited) != _first_text(candidates):
            # The SDK made it from the text, so it would still say what a hook took out.
            changes["parsed"] = None
    usage = object_field(response, "usageMetadata")
    if change.usage_metadata is not None:
        counts = changed_fields(usage, change.usage_metadata)
        new = set_fields(usage, "GenerateContentResponseUsageMetadata", counts, form=form)
        if new is not usage:
            changes["usageMetadata"] = new
    return with_fields(response, changes, form=form)


def _edit_candidates(
    candidates: list[Any], changes: Sequence[CandidateChange], form: Form
) -> list[Any]:
    edited = []
    for place, change in enumerate(changes):
        if place < len(candidates):
            candidate = candidates[place]
        else:
            content = build(form, "Content", {"role": "model", "parts": []})
            candidate = build(form, "Candidate", {"content": content})
        edited.append(_edit_candidate(candidate, change, form))
    is_same = len(edited) == len(candidates) and all(map(is_, edited, candidates))
    return candidates if is_same else edited


def _edit_candidate(candidate: Any, change: CandidateChange, form: Form) -> Any:
    form = form_of(candidate, form)
    changes: dict[str, Any] = {}
    content = object_field(candidate, "content")
    if change.content is not None and change.content.parts is not None:
        parts = parts_field(content)
        if change.content.parts != visible_texts(parts):
            new = {"parts": put_texts(parts, change.content.parts, form=form)}
            if content is None:
                changes["content"] = build(form, "Content", {"role": "model", **new})
            else:
                changes["content"] = with_fields(content, new, form=form)
    seen = show_fields(candidate, CandidateChange, ("finishReason", "index"))
    if change.finish_reason is not None and change.finish_reason != seen.get("finishReason"):
        changes["finishReason"] = enum_word(form, "FinishReason", change.finish_reason)
    if change.index is not None and change.index != seen.get("index"):
        changes["index"] = change.index
    if change.safety_ratings is not None:
        ratings = objects_field(candidate, "safetyRatings")
        edited = _edit_ratings(ratings, change.safety_ratings, form)
        if len(edited) != len(ratings) or not all(map(is_, edited, ratings)):
            changes["safetyRatings"] = edited
    return with_fields(candidate, changes, form=form)


def _edit_ratings(
    ratings: list[Any], changes: Sequence[SafetyRatingChange], form: Form
) -> list[Any]:
    edited = []
    for place, change in enumerate(changes):
        rating = ratings[place] if place < len(ratings) else build(form, "SafetyRating", {})
        seen = dict(_show_rating(rating))
        words = {
            name: enum_word(form, _RATING_ENUMS[name], word)
            for name, word in change.named().items()
            if word != seen[name]
        }
        edited.append(with_fields(rating, words, form=form))
    return edited


def _show_candidate(candidate: object) -> LLMCandidate:
    parts = visible_texts(parts_field(object_field(candidate, "content")))
    shown: dict[str, Any] = {"content": {"role": "model", "parts": parts}}
    shown |= show_fields(candidate, CandidateChange, ("finishReason", "index"))
    if field(candidate, "safetyRatings") is not None:
        ratings = objects_field(candidate, "safetyRatings")
        shown["safetyRatings"] = [_show_rating(rating) for rating in ratings]
    return cast(LLMCandidate, shown)


def _show_rating(rating: object) -> LLMSafetyRating:
    seen = show_fields(rating, SafetyRatingChange)
    return {"category": seen.get("category", ""), "probability": seen.get("probability", "")}


def _first_text(candidates: list[Any]) -> str:
    first = candidates[0] if candidates else None
    return "".join(visible_texts(parts_field(field(first, "content"))))
