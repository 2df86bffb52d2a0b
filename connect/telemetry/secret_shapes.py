"""Finds what looks like a secret: passwords in addresses and in lists of settings, in JSON, in headers, private keys.

Where a password ends depends on its context: at `&` in a query, at `;` in ODBC and many JDBC URLs, at the last `@`
before a host, at its own quotation mark in JSON. Where the context is ambiguous, the longest reading holds: too much is
hidden rather than too little. No search backtracks: the time is proportional to a text's length.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from connect.errors import MASK

_FLAGS: Final = re.IGNORECASE | re.ASCII

# How the names of keys end that hold secrets; nothing before it, or a long line would be searched from each dot.
_KEY: Final = (
    r"(?:password|passwd|passphrase|passcode|pwd|secret|token|credentials?"
    r"|(?:api|access|private|secret|account|signature|signing)[._\-]?key|user\.info"
    r"|(?<![a-z0-9])(?:pass|pin|pat)"  # and no compass
    r"|(?<=[?&;\-])sig(?:nature)?)"  # of addresses that are valid for a while: ?sig=   &X-Amz-Signature=
)
_BEGINNING: Final = re.compile(
    r"(?=[abcjpstu:@])(?:"  # the rest costs four times as much where it is tried at every sign
    # sasl.jaas.config=org...LoginModule required username="u" password="p";   but not our advice on that key
    r"(?P<jaas>\bsasl\.jaas\.config\\*[\"']?[ \t]*[=:][ \t]*+(?!it |\$\{[^}\n]{1,400}\} has no value: ))"
    # "password": "p"   'password': 'p'   \"password\": \"p\"
    rf"|(?P<member>{_KEY}\\*[\"'][ \t]*[=:][ \t]*)"
    # password=p   password = 'p'   and = as JSON and URLs may write it
    rf"|(?P<item>{_KEY}[ \t]*(?:=|\\u003d|%3d)[ \t]*)"
    # Authorization: Basic dXNlcjpw
    r"|(?P<header>\bAuthorization\\*[\"']?\s*[=:]\s*\\*[\"']?(?:Basic|Bearer|ApiKey|Token|Negotiate)\s+)"
    # Bearer eyJhbGciOi   alone, as the value of a header
    r"|(?P<scheme>\b(?:Bearer|Basic)[ \t]+)"
    # jdbc:oracle:thin:user/p@host
    r"|(?P<oracle>\bjdbc:oracle:\w{1,10}:(?:\"[^\"\n]*\"|[^\s/@:\"]*)/)"
    # postgresql://user:p@host
    r"|(?P<url>://[^\s/:?#\"]*:)"
    # user/p@//host, as Oracle's clients take it
    r"|(?P<easy>@//))",
    _FLAGS,
)
# None of these in a text, in small letters: nothing to find.
_WORDS: Final = (
    *("pass", "pwd", "secret", "token", "credential", "key", "user.info", "jaas", "@"),
    *("authorization", "bearer", "basic", "pin", "pat", "sig"),
)

_NAME: Final = r"[\w.\-]{1,80}"
_ITEM: Final = rf"{_NAME}[ \t]{{0,8}}="
_LIST: Final = re.compile(rf"\s*(?:jdbc:|[a-z][\w+.\-]{{0,40}}://|{_ITEM})", _FLAGS)
_NAME_SIGNS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LOOK_BACK: Final = 200

# Where a secret may end. ASCII's white space only: any other is a sign like others, for the readers of these forms.
_SPACE: Final = re.compile(r"\s", re.ASCII)
_LINE_END: Final = re.compile(r"\n")
_AMPERSAND: Final = re.compile(r"&")
_SEMICOLON: Final = re.compile(r";")
_WORD_ITEM: Final = re.compile(rf"(?<!\s)\s+{_ITEM}", re.ASCII)
_COMMA_ITEM: Final = re.compile(rf",\s*{_ITEM}", re.ASCII)
_SEMICOLON_ITEM: Final = re.compile(rf";\s*{_ITEM}", re.ASCII)
_AMPERSAND_ITEM: Final = re.compile(rf"&{_ITEM}", re.ASCII)
_BRACE: Final = re.compile(r"(?<!\})(?:\}\})*\}(?!\})(?=\s{0,8}(?:;|\Z)|[\s\"')\]])", re.ASCII)
_CLOSING: Final = {
    "(": re.compile(r"\)(?=[\s,;(/)}\]]|\Z)", re.ASCII),
    "{": re.compile(r"\}(?=[\s,;(/)}\]]|\Z)", re.ASCII),
}
_CREDENTIALS: Final = re.compile(r"[^\s\"',\\]*", re.ASCII)
# Behind "Bearer": no word of a sentence, but long enough, and with a digit or a capital letter inside.
_TOKEN: Final = re.compile(r"[\w.~+/\-]{8,}=*", re.ASCII)
_NO_WORD: Final = re.compile(r"\d|[a-z][A-Z]")
_ATOM: Final = re.compile(r"[\[{][^\n]*|(?>\$\{[^}\s\"']{0,200}\}|[^\s,}\]\"'])*", re.ASCII)
_JAAS: Final = re.compile(r"(?>(?:\"(?>(?:\\.|[^\"\\\n])*)\"?|'(?>(?:\\.|[^'\\\n])*)'?|[^;\n\"'])*)")

_QUOTE: Final = re.compile(r"(\\{0,15})([\"'`])")
_QUOTE_OR_LINE: Final = re.compile(r"(?:(?<=[\s=:(\[{,<>])|\A)(\\{0,15})([\"'`])|\n", re.ASCII)
# A quotation mark that ends something has this behind it.
_BEHIND: Final = re.compile(
    r"(?=[,;:&)}\]>.\\\"'`]{0,8}(?:\s|\Z)"  # space or the end, perhaps behind brackets
    r"|[,;:)}\]]{1,8}\\*[\"'{\[]"  # what JSON goes on with
    rf"|[,;&]{_ITEM}|[)}}\]]{{1,8}}[,;&/(]|\\n)",
    re.ASCII,
)

# In addresses.
_AT: Final = re.compile(r"@")
_HOST_END: Final = re.compile(rf"[/?#]|;{_ITEM}", re.ASCII)
_QUERY_ITEM: Final = re.compile(r"\?[\w.\-]+=", re.ASCII)
_NEXT_URL: Final = re.compile(r"[\s,;|](?:jdbc:)?[a-z][\w+.\-]{0,40}://", _FLAGS)
_STRICT_SCHEME: Final = re.compile(r"(?:\bjdbc:[\w:+.\-]*|\b(?:http|ws)s?)\Z", _FLAGS)
# Behind "host:" stands a port, or those of several hosts, and no password.
_PORT: Final = re.compile(
    r"(?:\d{1,5}(?>(?:,[^\s:,@/?#;]*(?::\d{0,5})?)*)(?=[/?#;,]|[\"')}\]>.:]{0,8}(?:\s|\Z))|(?=[/?#\s]|\Z))", re.ASCII
)
_USER_AND_PASSWORD: Final = re.compile(r"(?:\A|[\s\"'=(,:;])[\w$#]+/(\S+)\Z", re.ASCII)

_VARIABLES: Final = re.compile(r"([\"']?)(?:\$\{[^}:]*:[^}]*\})+\1")

# -----BEGIN EC PRIVATE KEY-----   Certificates and public keys are not secrets.
_PEM_BEGINNING: Final = re.compile(r"-----BEGIN [a-z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", _FLAGS)
_PEM_END: Final = re.compile(r"-----END [a-z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", _FLAGS)


class Span(NamedTuple):
    """The range of a secret."""

    start: int
    end: int


def secrets_in(text: str, *, whole: bool = False) -> Iterator[Span]:
    """What looks like a secret; ranges may overlap. Masks and variables of config providers are not secrets.

    Args:
        whole: the text is the value of a setting and nothing else: a password may have unquoted spaces, and ends with
            the text at the latest. In other texts it ends with a line, or a word.
    """
    small = text.lower()
    if not any(word in small for word in _WORDS):
        return
    ahead = _Ahead(text)
    if "-----begin" in small:
        yield from _private_keys(text, ahead)
    regions = _Regions(text, ahead, whole=whole)
    position = 0
    while (found := _BEGINNING.search(text, position)) is not None:
        span = _secret(text, found, ahead, regions)
        secret = text[span.start : span.end]
        if not secret:
            # The host of an address without a password may be followed by settings: ://host;password=p:q
            position = found.start() + 1 if found.lastgroup == "url" else found.end()
            continue
        if secret.strip("\\\"'") != MASK and not _VARIABLES.fullmatch(secret):
            yield span
        position = max(span.end, found.end())


def _private_keys(text: str, ahead: _Ahead) -> Iterator[Span]:
    """Keys in PEM form, up to their last line; to the end of a text that does not have it."""
    position = 0
    while (found := _PEM_BEGINNING.search(text, position)) is not None:
        position = ahead.span(_PEM_END, found.end()).end
        yield Span(found.start(), position)


class _Region(NamedTuple):
    """The limits of a secret: the string in quotation marks around it, the line, the whole text.

    Attributes:
        pure: it contains nothing but an address, or a list of settings.
    """

    end: int
    pure: bool


class _Ahead:
    """Finds the next matches of patterns. A found one is returned without a search, as long as it lies ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[re.Pattern[str], Span] = {}

    def span(self, pattern: re.Pattern[str], position: int) -> Span:
        """The next match of a pattern at or after a position, which must not decrease; the end if there is none."""
        known = self._found.get(pattern)
        if known is None or known.start < position:
            found = pattern.search(self._text, position)
            known = Span(len(self._text), len(self._text)) if found is None else Span(*found.span())
            self._found[pattern] = known
        return known

    def __call__(self, pattern: re.Pattern[str], position: int) -> int:
        """Where that begins."""
        return self.span(pattern, position).start


class _Regions:
    """Finds the region of a position. For ascending positions."""

    def __init__(self, text: str, ahead: _Ahead, *, whole: bool) -> None:
        self._text = text
        self._ahead = ahead
        self._whole = whole
        self._openings = iter(()) if whole and _LIST.match(text) else _QUOTE_OR_LINE.finditer(text)
        self._opening = next(self._openings, None)
        self._open: list[_Region] = []

    def at(self, position: int) -> _Region:
        """The smallest region."""
        while (opening := self._opening) is not None and opening.start() < position:
            if opening[2] is None:
                self._open.clear()
            else:
                self._enter(opening)
            self._opening = next(self._openings, None)
        while self._open and self._open[-1].end <= position:
            self._open.pop()
        if self._open:
            return self._open[-1]
        return _Region(len(self._text) if self._whole else self._ahead(_LINE_END, position), self._whole)

    def _enter(self, opening: re.Match[str]) -> None:
        start, depth = opening.end(), len(opening[1])
        closing = self._ahead.span(_closing(depth, opening[2]), start)
        if closing.start < min(len(self._text), self._ahead(_LINE_END, start)):
            self._open.append(_Region(closing.end - depth - 1, _LIST.match(self._text, start) is not None))


@functools.cache
def _closing(depth: int, quote: str) -> re.Pattern[str]:
    """A quotation mark that closes an opening one: behind as many backslashes, and not doubled."""
    return re.compile(rf"(?<![\\{quote}])(?:{quote}{quote})*\\{{{depth}}}{quote}(?!{quote}){_BEHIND.pattern}", re.ASCII)


def _secret(text: str, found: re.Match[str], ahead: _Ahead, regions: _Regions) -> Span:
    """The range of the secret that begins here; an empty one if there is none."""
    start = found.end()
    if found.lastgroup == "easy":
        return _of_easy_connect(text, found.start())
    if text.startswith(MASK, start):
        return Span(start, start + len(MASK))
    match found.lastgroup:
        case "header":
            end = _match(_CREDENTIALS, text, start)
        case "scheme":
            end = _match(_CREDENTIALS, text, start) if _is_token(text, found, regions.at(found.start())) else start
        case "jaas":
            end = _quoted(text, start, ahead(_LINE_END, start), ahead) or _match(_JAAS, text, start)
        case "member":
            end = _quoted(text, start, ahead(_LINE_END, start), ahead) or _match(_ATOM, text, start)
        case "oracle":
            end = _before_host(text, start, regions.at(found.start()), ahead)
        case "url":
            end = _of_url(text, found, regions.at(found.start()), ahead)
        case _:
            end = _of_item(text, found, regions.at(found.start()), ahead)
    return Span(start, end)


def _is_token(text: str, scheme: re.Match[str], region: _Region) -> bool:
    """Whether credentials follow `Bearer` or `Basic`, and no other words."""
    token = _TOKEN.match(text, scheme.end(), region.end)
    return token is not None and _NO_WORD.search(text, *token.span()) is not None


# Settings in a list, or alone: name=value.


def _of_item(text: str, found: re.Match[str], region: _Region, ahead: _Ahead) -> int:
    """The end of the value."""
    start = found.end()
    before = text[max(0, found.start() - _LOOK_BACK) : found.start()].rstrip(_NAME_SIGNS)
    mark, spaced = before.rstrip()[-1:], before[-1:].isspace()
    if mark in ("?", "&") and not spaced:
        end = region.end if region.pure else min(region.end, ahead(_SPACE, start))
        return min(end, ahead(_AMPERSAND, start))
    braced = ahead.span(_BRACE, start).end if text.startswith("{", start) else start
    braced = braced if braced <= region.end else start
    quoted = _quoted(text, start, region.end, ahead)
    if mark == ";":
        return max(min(region.end, ahead(_SEMICOLON, start)), braced, quoted or start)
    if quoted is not None:
        return quoted
    if mark and mark in ",({":
        ends = [ahead(_COMMA_ITEM, start), ahead(_CLOSING[mark], start) if mark in _CLOSING else region.end]
        if min(ends) < region.end:
            return max(min(ends), braced)
    is_among_words = spaced and "=" in "".join(before.split()[-1:])
    return max(_of_some_list(text, start, region, ahead, is_among_words=is_among_words), braced)


def _of_some_list(text: str, start: int, region: _Region, ahead: _Ahead, *, is_among_words: bool) -> int:
    """The end of a value with an unknown separator: of the places where an item may follow, the last kind's first.

    Args:
        is_among_words: the item before this one ends with a space.
    """
    ends = [ahead(_WORD_ITEM if region.pure else _SPACE, start)]
    if not is_among_words:
        ends.append(ahead(_SEMICOLON_ITEM, start))
        if region.pure:
            ends += [ahead(_COMMA_ITEM, start), ahead(_AMPERSAND_ITEM, start)]
    end = max((each for each in ends if each < region.end), default=region.end)
    if not is_among_words and (_COMMA_ITEM.match(text, end - 1) or _SEMICOLON_ITEM.match(text, end - 1)):
        end -= 1  # password=p, user=u
    return max(start, end)


def _quoted(text: str, start: int, limit: int, ahead: _Ahead) -> int | None:
    """The end of a value in quotation marks; None if it has none."""
    opening = _QUOTE.match(text, start)
    if opening is None:
        return None
    (escape, quote), inner = opening.groups(), opening.end()
    behind = inner + len(opening[0])
    if text.startswith(opening[0], inner) and not text.startswith(quote, behind) and _BEHIND.match(text, behind):
        return behind  # it is empty, and does not begin with a doubled mark
    closing = ahead.span(_closing(len(escape), quote), inner)
    if closing.start < limit:
        return min(closing.end, limit)
    # None that ends something on this line: "a"b   Some lines further on, or nowhere.
    if (last := text.rfind(quote, inner, limit)) >= 0:
        return max(last + 1, min(limit, ahead(_SPACE, last)))
    return closing.end if closing.start < closing.end else None


# Addresses.


def _of_url(text: str, found: re.Match[str], region: _Region, ahead: _Ahead) -> int:
    """The end of the password in `://user:password@host`; its beginning if there is none."""
    start = found.end()
    at = ahead(_AT, start)
    if at >= region.end or (";" in found[0] and "=" in found[0]):
        return start
    end = _end_of_address(start, region, ahead)
    if _PORT.match(text, start):
        strict = _STRICT_SCHEME.search(text[max(0, found.start() - 40) : found.start()])
        is_host = at > ahead(_HOST_END, start) and (strict or ahead(_QUERY_ITEM, start) < at)
        if at >= end or is_host:
            return start
    if at >= end and ahead(_NEXT_URL, start) < at:
        return start
    # A password may have an @, a path or a query has seldom one: as far as it may go.
    return text.rfind("@", start, max(at + 1, min(end, ahead(_QUERY_ITEM, at))))


def _before_host(text: str, start: int, region: _Region, ahead: _Ahead) -> int:
    """The last @ of an address; the beginning if there is none."""
    if text.startswith('"', start) and (quoted := text.find('"@', start + 1, region.end)) >= 0:
        return quoted + 1
    end = _end_of_address(start, region, ahead)
    return max(start, text.rfind("@", start, end)) if ahead(_AT, start) < end else start


def _end_of_address(start: int, region: _Region, ahead: _Ahead) -> int:
    end = min(region.end, ahead(_NEXT_URL, start))
    return end if region.pure else min(end, ahead(_SPACE, start))


def _of_easy_connect(text: str, at: int) -> Span:
    """The password in `user/password@//host`; `at` is where the host begins."""
    first = max(0, at - _LOOK_BACK)
    found = _USER_AND_PASSWORD.search(text[first:at])
    if found is None or found[1].startswith(MASK):
        return Span(at, at)
    return Span(first + found.start(1), at)


def _match(pattern: re.Pattern[str], text: str, start: int) -> int:
    """The end of a pattern that matches here, at least nothing."""
    found = pattern.match(text, start)
    return start if found is None else found.end()
