#!/usr/bin/env python3
"""Replaces personal data in the model's answer by its kind, as in [EMAIL].

Settings say "onFailure": "block": an answer that could not be checked is discarded.
"""

import json
import re
import sys


def is_card(digits):
    """Luhn's check sum, which one in ten other numbers has by chance."""
    numbers = [int(digit) for digit in reversed(re.sub(r"\D", "", digits))]
    doubled = [sum(divmod(2 * number, 10)) for number in numbers[1::2]]
    return (sum(numbers[::2]) + sum(doubled)) % 10 == 0


def is_iban(text):
    compact = text.replace(" ", "")
    digits = "".join(str(int(character, 36)) for character in compact[4:] + compact[:4])
    return int(digits) % 97 == 1


def is_phone(text):
    return 9 <= len(re.sub(r"\D", "", text)) <= 15


# With a plus, brackets or three groups, so that plain numbers and dates stay.
PHONE = (
    r"(?<![\w.-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){6,12}"
    r"|\(\d{3,4}\)[ .-]?\d{3,4}[ .-]?\d{3,4}|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w-])"
)
# In this order: what an earlier one replaced, a later one does not see.
KINDS = (
    ("EMAIL", r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}", None),
    ("IBAN", r"\b[A-Z]{2}\d{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?\b", is_iban),
    ("CARD", r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]?\d)", is_card),
    ("SSN", r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])", None),
    ("PHONE", PHONE, is_phone),
)


def redacted(text):
    for name, pattern, is_one in KINDS:

        def replacement(match, name=name, is_one=is_one):
            return f"[{name}]" if is_one is None or is_one(match.group()) else match.group()

        text = re.sub(pattern, replacement, text)
    return text


def redacted_parts(parts):
    """The parts, each redacted; as one where something personal goes over the edge of a part."""
    whole, apart = redacted("".join(parts)), [redacted(part) for part in parts]
    return apart if "".join(apart) == whole else [whole]


def main():
    response = json.load(sys.stdin.buffer)["llm_response"]
    candidates, changed = [], False
    for candidate in response.get("candidates", []):
        content = candidate.get("content", {})
        parts = content.get("parts", [])
        better = redacted_parts(parts)
        changed = changed or better != parts
        candidates.append({**candidate, "content": {**content, "parts": better}})
    if changed:
        answer = {"hookEventName": "AfterModel", "llm_response": {"candidates": candidates}}
        json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
