"""Synchronises the rules at X with the configuration. Only rules with the connector's tag are changed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from connect import ConfigError
from connectors.twitter.api import Api
from connectors.twitter.failures import ApiError, Kind, details
from connectors.twitter.rules import Rule

log = logging.getLogger(__name__)

_SEPARATOR: Final = "/"


class RuleSet:
    """The rules of one connector.

    Args:
        rules: of the configuration.
        tag: the prefix of the connector's tags; the label of a rule follows.
        managed: False leaves all rules alone, and accepts the posts of each.
    """

    def __init__(self, rules: Sequence[Rule], tag: str, *, managed: bool) -> None:
        self._tag = tag
        self._managed = managed
        self._wanted = {rule.value: rule for rule in rules}
        self._ids: set[str] = set()
        #: The rules, as recent search may be asked for them.
        self.values: list[str] = list(self._wanted)

    def synchronize(self, api: Api) -> None:
        """Add what is missing, delete the connector's other rules.

        Additions are validated first, so that a rule with an error changes nothing.

        Raises:
            ConfigError: X refuses a rule; the error names the key.
            ApiError: the API is unavailable.
        """
        there = api.rules()
        if not self._managed:
            self.values = [str(rule["value"]) for rule in there]
            if not there:
                raise ApiError(
                    "The app has no rules, and twitter.rules.manage=false adds none: nothing can be streamed.",
                    Kind.HTTP,
                    "missing",
                )
            return
        ours = [rule for rule in there if self._is_ours(rule.get("tag"))]
        held = {str(rule["value"]): rule for rule in ours}
        good = {value: rule for value, rule in held.items() if self._is_as_wanted(value, rule)}
        others = {str(rule["value"]): rule for rule in there if not self._is_ours(rule.get("tag"))}
        self._ids = {str(rule["id"]) for rule in good.values()}
        missing = [rule for value, rule in self._wanted.items() if value not in good]
        for rule in [each for each in missing if each.value in others]:
            # X has each rule once. Somebody else's brings the same posts, under another tag.
            self._ids.add(str(others[rule.value]["id"]))
            missing.remove(rule)
        old = [rule for rule in ours if rule["id"] not in self._ids]
        if missing:
            # A rule that changes its tag only is there already, so it cannot be tried.
            self._try(api, [rule for rule in missing if rule.value not in held])
            self._delete(api, [rule for rule in old if rule["value"] in self._wanted])
            old = [rule for rule in old if rule["value"] not in self._wanted]
            self._add(api, missing, old)
        self._delete(api, old)

    def takes(self, matching: Any) -> bool:
        """Whether a post is for this connector, by the rules that it matched: other connectors have theirs."""
        if not self._managed or not isinstance(matching, list):
            return True
        return any(
            isinstance(rule, Mapping) and (str(rule.get("id")) in self._ids or self._is_ours(rule.get("tag")))
            for rule in matching
        )

    def _is_ours(self, tag: Any) -> bool:
        return isinstance(tag, str) and (tag == self._tag or tag.startswith(self._tag + _SEPARATOR))

    def _is_as_wanted(self, value: str, rule: Mapping[str, Any]) -> bool:
        return value in self._wanted and rule.get("tag") == self._tagged(self._wanted[value])

    def _tagged(self, rule: Rule) -> str:
        return f"{self._tag}{_SEPARATOR}{rule.label}" if rule.label else self._tag

    def _try(self, api: Api, rules: Sequence[Rule]) -> None:
        if rules:
            self._refuse(api.add_rules(self._pairs(rules), dry_run=True), capped=False)

    def _add(self, api: Api, rules: Sequence[Rule], old: list[dict[str, Any]]) -> None:
        answer = api.add_rules(self._pairs(rules))
        if _capped(answer) and old:
            # New ones come first, so that nothing is missed; where there is no room for both, old ones go first.
            self._delete(api, old)
            old.clear()
            answer = api.add_rules(self._pairs(rules))
        self._refuse(answer, capped=True)
        added = [rule for rule in answer.get("data") or [] if isinstance(rule, Mapping)]
        self._ids |= {str(rule["id"]) for rule in added if "id" in rule}
        for error in _errors(answer):
            if _is(error, "duplicate") and "id" in error:
                self._ids.add(str(error["id"]))
        log.info("Added %d rules to the filtered stream.", len(added))

    def _delete(self, api: Api, rules: Iterable[Mapping[str, Any]]) -> None:
        gone = [str(rule["id"]) for rule in rules]
        if gone:
            api.delete_rules(gone)
            log.info("Deleted %d rules of ours from the filtered stream.", len(gone))

    def _pairs(self, rules: Iterable[Rule]) -> list[tuple[str, str]]:
        return [(rule.value, self._tagged(rule)) for rule in rules]

    def _refuse(self, answer: Mapping[str, Any], *, capped: bool) -> None:
        """Raise for rules that X refuses."""
        for error in _errors(answer):
            if _is(error, "duplicate"):
                continue
            if _is(error, "cap"):
                if capped:
                    raise ConfigError(
                        "twitter.rules",
                        f"X takes no more rules of this app{details({'errors': [error]})}. Take rules out, or put some "
                        "together with OR.",
                    )
                continue
            rule = self._wanted.get(str(error.get("value")))
            key = rule.key if rule is not None else "twitter.rules"
            value = f'"{rule.value}" ' if rule is not None else "a rule "
            raise ConfigError(key, f"{value}is refused by X{details({'errors': [error]})}.")


def _errors(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = answer.get("errors")
    return [error for error in found if isinstance(error, Mapping)] if isinstance(found, list) else []


def _capped(answer: Mapping[str, Any]) -> bool:
    return any(_is(error, "cap") for error in _errors(answer))


def _is(error: Mapping[str, Any], what: str) -> bool:
    """Whether an error is of this kind: X names kinds by the end of an address, and by a title."""
    kind, title = str(error.get("type", "")).rpartition("/")[2], str(error.get("title", "")).lower()
    return {
        "duplicate": kind == "duplicate-rules" or title == "duplicaterule",
        "cap": kind == "rule-cap" or title == "rulescapexceeded",
    }[what]
