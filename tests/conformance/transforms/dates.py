"""Patterns of SimpleDateFormat as people write them, and generated ones; moments to format and texts to parse."""

import random

PATTERNS = [
    "yyyy-MM-dd", "yyyyMMdd", "yyyy/MM/dd", "dd.MM.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "d.M.yyyy", "M/d/yy",
    "dd-MM-yy", "yyMMdd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd HH:mm:ss.S",
    "yyyy-MM-dd HH:mm:ss.SS", "yyyy-MM-dd HH:mm", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss'Z'",
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'", "yyyy-MM-dd'T'HH:mm:ssZ",
    "yyyy-MM-dd'T'HH:mm:ssX", "yyyy-MM-dd'T'HH:mm:ssXX", "yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "yyyy-MM-dd HH:mm:ss z", "yyyy-MM-dd HH:mm:ss Z",
    "yyyy-MM-dd HH:mm:ss zzzz", "yyyy-MM-dd hh:mm:ss a", "MM/dd/yyyy hh:mm a", "M/d/yyyy h:mm:ss a",
    "EEE, dd MMM yyyy HH:mm:ss Z", "EEE, d MMM yyyy HH:mm:ss z", "EEE MMM dd HH:mm:ss zzz yyyy", "EEEE, MMMM d, yyyy",
    "dd MMM yyyy", "dd-MMM-yyyy", "dd-MMM-yy HH.mm.ss", "MMM d, yyyy", "MMMM yyyy", "MMM", "MMMM", "MMMMM", "LLL",
    "LLLL", "L", "E", "EE", "EEE", "EEEE", "EEEEE", "D", "DDD", "yyyy-DDD", "yyyyDDD",
    "y", "yy", "yyy", "yyyy", "yyyyy", "yyyyyy",
    "H", "HH", "k", "kk", "K", "KK", "h", "hh", "HHmmss", "HHmmssSSS", "yyyyMMddHHmmss",
    "yyyyMMddHHmmssSSS", "yyyyMMdd'T'HHmmss'Z'", "a", "aa", "aaaa", "K:mm a", "h a", "k:mm", "mm:ss", "ss", "s", "S",
    "SS", "SSS", "SSSS", "SSSSSS", "SSSSSSSSS", "m", "X", "XX", "XXX", "Z", "ZZ", "ZZZZZ", "z", "zz", "zzz", "zzzz",
    "'year='yyyy/'month='MM/'day='dd", "yyyy''MM", "'it''s' yyyy", "''", "''yy", "'o''clock' hh", "yyyy-MM-dd'",
    "yyyy'T", "T", "yyyy-MM-ddTHH:mm", "yyyy-MM-dd HH:mm:ss,SSS", "", " ", "yyyy MM", "d", "dd", "ddd",
    "M", "MM", "yyyy-M-d H:m:s.S", "yyyy.MM.dd 'at' HH:mm:ss z", "hh 'o''clock' a, zzzz", "K:mm a, z",
    "yyyyy.MMMMM.dd hh:mm aaa", "EEE, d MMM yyyy HH:mm:ss Z", "yyMMddHHmmssZ", "XXXX", "b", "i",
    "I", "n", "A", "e", "Q", "V", "x", "B", "c", "q", "yyyyMMdd-HHmmss.SSS", "yyyy-MM-dd-HH-mm", "EEEE MMMM",
    "HH:mm:ss.SSSSSS", "yyyy#MM", "yyyy\\MM", "yyyy$MM", "(yyyy)", "[yyyy]", "yyyy.MM", "dd%MM", "ddMMyyyy", "dMyyyy",
    "yyyyM", "HHmm", "Hmm", "MMdd", "EyyyyMMdd", "D yyyy",
    "a K", "a h", "a H",
]  # fmt: skip

_LETTERS = "yMLDdEaHkKhmsSzZX"
_LITERALS = ["-", ":", " ", ".", "/", "'T'", "", "", "''", ",", "'at'", "_"]

#: Moments in milliseconds: the edges of years, months, weeks, days and of what Python's years hold, leap days.
MOMENTS = [
    0, 1, -1, 999, 1000, 59_999, 3_600_000, 43_200_000, 43_199_999, 86_399_999, 86_400_000, -86_400_000, -43_200_001,
    951_782_400_000, 951_827_696_007, 1_700_000_000_123, 1_704_067_199_999, 1_704_067_200_000, 1_709_210_096_789,
    1_735_603_200_000, 1_735_689_600_000, 1_640_995_200_000, 1_672_531_200_000, 1_230_768_000_000, 1_262_304_000_000,
    4_102_444_800_000, 7_258_118_400_000, -2_208_988_800_000, -12_219_292_800_000, 253_402_300_799_999,
    100_000_000_000_000,
]  # fmt: skip


def pattern(chance: random.Random) -> str:
    """Letters with a meaning, by chance, with something between them."""
    parts = []
    for _ in range(chance.randint(1, 5)):
        parts.append(chance.choice(_LETTERS) * chance.choice([1, 1, 2, 2, 3, 4, 5]))
        parts.append(chance.choice(_LITERALS))
    return "".join(parts)


def mangled(chance: random.Random, text: str) -> str:
    """The text as somebody else could write it: cut, longer, in other letters, with another digit or sign."""
    at = chance.randrange(len(text) + 1)
    return chance.choice(
        [
            text[:at],
            text[:at] + text[at + 1 :],
            text[:at] + chance.choice("0123456789 -+:.Tax") + text[at:],
            text[:at] + chance.choice("0123456789 -+:.Tax") + text[at + 1 :],
            text.lower(),
            text.upper(),
            text + chance.choice([" ", "x", "0", "Z"]),
            " " + text,
            text.replace("0", "\u0660"),
            text.replace("UTC", chance.choice(["GMT", "EST", "CET", "PST", "GMT+1", "GMT+01:30", "+0100", "Z", "utc"])),
            text.replace("Z", chance.choice(["+01", "+0130", "-01:30", "z", "+1", "+25:00"])),
        ]
    )
