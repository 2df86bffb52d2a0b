"""The language of X's rules and queries, in part.

Words, "phrases", #tags, from:, lang:, sample:, brackets, OR, and - before any of them.
"""

import re
from collections import deque
from collections.abc import Callable
from typing import Any

TERM = re.compile(r'\s*(\(|\)|-|OR\b|(?:\w+:)?"(?:[^"\\]|\\.)*"|[^\s()]+)')


def wrong(rule: str, longest: int) -> str | None:
    """What X says about a rule that it does not take."""
    if not rule.strip():
        return "Rule is empty. (at position 0)"
    if len(rule) > longest:
        return f"Rules must be {longest} characters or less. Your rule is {len(rule)} characters long. (at position 1)"
    try:
        parsed(rule)
    except (ValueError, IndexError):
        return f"missing '(' or ')', or no viable alternative at input '{rule}' (at position {len(rule)})"
    for operator in re.findall(r"(\w+):", re.sub(r'"[^"]*"', "", rule)):
        if operator not in ("from", "lang", "sample"):
            reason = "Operator is not available in current product (at position 1)"
            return f"Reference to invalid operator '{operator}'. {reason}"
    return None


def matches(rule: str, post: dict[str, Any], users: dict[str, dict[str, Any]]) -> bool:
    """Whether a post is what a rule asks for."""
    return parsed(rule)(post, users)


Match = Callable[[dict[str, Any], dict[str, dict[str, Any]]], bool]


def parsed(rule: str) -> Match:
    terms = deque(term for term in TERM.findall(rule))
    if "".join(terms).replace(" ", "") != re.sub(r"\s", "", rule).replace(" ", "") and '"' not in rule:
        raise ValueError(rule)
    match = _either(terms)
    if terms:
        raise ValueError(rule)
    return match


def _either(terms: deque[str]) -> Match:
    parts = [_all(terms)]
    while terms and terms[0] == "OR":
        terms.popleft()
        parts.append(_all(terms))
    return lambda post, users: any(part(post, users) for part in parts)


def _all(terms: deque[str]) -> Match:
    parts = []
    while terms and terms[0] not in ("OR", ")"):
        parts.append(_one(terms))
    if not parts:
        raise ValueError("nothing")
    return lambda post, users: all(part(post, users) for part in parts)


def _one(terms: deque[str]) -> Match:
    term = terms.popleft()
    if term == "-":
        inner = _one(terms)
        return lambda post, users: not inner(post, users)
    if term == "(":
        inner = _either(terms)
        if terms.popleft() != ")":
            raise ValueError("not closed")
        return inner
    if term.startswith("-") and len(term) > 1:
        inner = _one(deque([term[1:]]))
        return lambda post, users: not inner(post, users)
    operator, colon, value = term.partition(":")
    if colon and operator == "from":
        return lambda post, users: (
            value.lower()
            in (
                post["author_id"],
                users[post["author_id"]]["username"].lower(),
            )
        )
    if colon and operator == "lang":
        return lambda post, users: post.get("lang") == value
    if colon and operator == "sample":
        return lambda post, users: True
    word = term.strip('"').replace('\\"', '"').lower()
    if term.startswith('"'):
        return lambda post, users: word in post["text"].lower()
    return lambda post, users: word in re.findall(r"[#@$]?\w+", post["text"].lower())
