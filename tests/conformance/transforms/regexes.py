"""Java's regular expressions and what replaces a match, as people write them and generated; topics to match."""

import random
import re

ROUTES = [
    ("(.*)", "$1"), ("(.*)", "prefix-$1"), ("(.*)", "$1-suffix"), ("(.*)-(.*)", "$2-$1"), ("orders", "bought"),
    ("([^.]+)\\.([^.]+)\\.([^.]+)", "$3"), ("(.*)\\.(.*)\\.(.*)", "$2_$3"), ("server1\\.public\\.(.*)", "$1"),
    ("[^.]*\\.(.*)", "$1"), ("(\\w+)\\.(\\w+)\\.(\\w+)", "$3_$2"), ("topic-(.*)-(v\\d+)", "$2.$1"),
    ("^(.*)$", "dlq.$1"), ("(.*)_v[0-9]+", "$1"), ("(?<name>.*)", "${name}_new"),
    ("(?<db>\\w+)\\.(?<table>\\w+).*", "${table}-${db}"), ("o(r)ders.*", "x$1y"), (".*", "all"), (".*", "$0"),
    (".*", "$1"), ("(.*)", "$10"), ("(o)(.*)", "$12"), (".+", "$0$0"), (".*", "a\\$b"), (".*", "a\\\\b"), (".*", "$"),
    (".*", "\\"), (".*", "a\\"), (".*", "${absent}"), (".*", "${}"), (".*", "$x"), (".*", "${1}"), ("(.*)", "${1}"),
    (".*", "$$"), (".*", "\\x"), (".*", "größe"), ("(?<a1>.*)", "${a1}"), ("(?<a_b>.*)", "x"), ("(?<1a>.*)", "x"),
    ("(?<a>x)(?<a>y)", "x"), ("ORDERS", "x"), ("(?i)ORDERS", "x"), ("(?i)GRÖSSE", "x"), ("(?i)GRÖẞE", "x"),
    ("(?iu)GRÖẞE", "x"), ("x{40}", "short"), ("x{2,}", "short"), ("x{,3}", "x"), ("{", "x"), ("a{", "x"),
    ("a{1", "x"), ("}", "x"), ("[", "x"), ("(", "x"), (")", "x"), ("*", "x"), ("+", "x"), ("a**", "x"), ("a|", "x"),
    ("|", "x"), ("]", "x"), ("[]", "x"), ("[]a]", "x"), ("[^]a]", "x"), ("[a-]+", "x"), ("[-a]+", "x"),
    ("[z-a]", "x"), ("[\\w-]+", "word"), ("[\\w-z]+", "word"), ("[a-z&&[^o]]+", "x"), ("[a-z&&o]+", "x"),
    ("[a[bc]]+", "x"), ("[.]+", "x"), ("[a.]+", "x"), ("[\\]]+", "x"), ("[\\[]+", "x"), ("(a)?.*", "<$1>"),
    ("(a)|(o).*", "$1$2"), ("(.*?)(-\\d+)?", "$1"), ("(a|ab)(c|bcd)(d*)", "$1-$2-$3"), ("a|ab", "x"),
    ("o|orders", "x"), ("(o|or)d?", "$1"), ("^o|orders", "x"), ("\\p{Alpha}+", "alpha"), ("\\p{Lower}+", "x"),
    ("\\P{Lower}+", "x"), ("\\p{L}+", "x"), ("\\pL+", "x"), ("\\p{IsLatin}+", "latin"), ("\\p{IsAlphabetic}+", "x"),
    ("\\p{Lu}.*", "x"), ("\\p{InGreek}", "x"), ("\\p{javaLowerCase}+", "x"), ("\\p{Punct}", "x"),
    ("[\\p{Alnum}._-]+", "x"), ("[^\\p{Upper}]+", "x"), ("[\\P{Upper}]+", "x"), ("größe", "size"), ("gr..e", "x"),
    ("\\w+", "x"), ("gr\\W+e", "x"), ("", ""), ("(.*)", ""), ("\\Qa.b.c\\E", "abc"), ("\\Qa.b.c", "abc"),
    ("\\Q\\E.*", "x"), ("a\\Q.\\Eb.*", "x"), ("[\\Q^-]\\E]+", "x"), (".*+", "possessive"), ("o++r.*", "x"),
    ("(?>o|or)ders", "atomic"), ("(?=o).*", "ahead"), ("(?!o).*", "not"), ("(?<=^)o.*", "behind"), (".*(?<=s)", "x"),
    (".*(?<!s)", "x"), ("(?<=o+)r.*", "x"), (".*(?<=er?s)", "x"), ("^orders$", "anchored"),
    ("\\Aorders\\z", "anchored"), ("orders\\Z", "anchored"), ("orders$", "x"), ("\\borders\\b.*", "x"),
    ("\\Borders", "x"), ("\\Gorders", "x"), ("orders\\b{g}", "x"), ("(?x) o rders # comment", "x"),
    ("(?x)[o r]ders", "x"), ("(?m)^orders$", "x"), ("(?s).*", "x"), ("(?i:O)rders", "x"), ("o(?i)RDERS", "x"),
    ("(o(?i)R)DERS", "x"), ("(?i)o(?-i)rders", "x"), ("(?-i)orders", "x"), ("(?d).*", "x"), ("(?U)\\w+", "x"),
    ("(?iU)GRÖSSE", "x"), ("(?z)a", "x"), ("\\u006frders", "x"), ("\\x6frders", "x"), ("\\x{6f}rders", "x"),
    ("\\0157rders", "x"), ("\\cA", "x"), ("\\N{LATIN SMALL LETTER O}rders", "x"), ("\\t", "x"), ("\\n", "x"),
    ("\\e", "x"), ("\\a", "x"), ("\\f", "x"), ("\\y", "x"), ("\\i", "x"), ("\\-", "x"), ("\\ ", "x"), ("\\_", "x"),
    ("\\$1", "dollar"), ("\\1", "x"), ("(x)\\1+", "$1"), ("(x)\\10.*", "$1"), ("(?<n>x)\\k<n>+", "${n}"),
    ("\\k<n>", "x"), ("(x)\\2", "x"), ("x{1}{40}", "x"), ("(x{2}){20}", "$1"), ("(x)*", "$1"), ("((a)|b)*.*", "$2"),
    ("(a*)*", "x"), ("(a*)+", "x"), ("(|a)+", "x"), ("\\d+", "x"), ("\\D+", "x"), ("\\s*", "x"), ("\\S+", "x"),
    ("\\h*", "x"), ("\\v*", "x"), ("\\R", "x"), ("\\X+", "x"), ("[\\h]+", "x"), (".", "x"), ("..", "$0"),
    ("[a-zA-Z0-9._-]+", "legal"), ("(?:orders|sales)(?:-\\d{4})?", "x"), ("[^-]+-(\\d{4})", "y$1"),
    ("a\\.b\\.c", "x"), ("(?<year>[0-9]{4})", "x"), (".*(?<year>[0-9]{4})", "${year}"),
    ("(.*[^0-9])([0-9]+)", "$2$1"), ("([a-z]+)(?:-(\\d+))?", "$1$2"),
]  # fmt: skip

#: Mostly what Kafka takes for a topic's name.
TOPICS = [
    "a", "orders", "ORDERS", "Orders", "orders-2024", "orders-eu-2024", "a.b.c", "db.schema.table",
    "server1.public.users", "x" * 40, "xx", "ab", "abcd", "aba", "UPPER_lower", "topic-x-v12", "t_v3", "b-_.", "0",
    "2024", "-", "_", "a.b", "aa", "or", "grösse", "größe", "a b", "$1", "o\\rders", "[", "{", "a{1", "^-]", "😀",
]  # fmt: skip

#: What may be repeated, and what may not: Java lets a place be repeated, Python does not, and nobody writes it.
_ATOMS = [
    "a", "o", "r", "x", ".", "-", "_", "\\.", "\\w", "\\d", "\\W", "\\D", "\\S", "\\s", "[a-z]", "[^-.]", "[a-z0-9_]",
    "[^a]", "[.\\-]", "\\p{Alpha}", "\\p{Upper}", "\\Qa.\\E", "\\x61", "\\u006f", "ö",
]  # fmt: skip
_PLACES = ["\\b", "^", "$", "(?=o)", "(?!a)", "(?<=a)", "(?<!o)", "(?i)", "\\z"]
_QUANTIFIERS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "{2}", "{1,3}", "{0,}", "{1,2}?"]
_REPLACEMENTS = ["$1", "$0", "$2", "x", "-", "\\$", "$12", "${n}", "\\\\", "é", "$1$2", "_"]


def regex(chance: random.Random, depth: int = 0) -> str:
    """An expression by chance. Most are right, some are not."""
    parts = []
    for _ in range(chance.randint(1, 4)):
        if depth < 2 and chance.random() < 0.3:
            opened = chance.choice(["(", "(", "(", "(?:", "(?<n>" if depth == 0 else "(", "(?i:"])
            inner = regex(chance, depth + 1)
            # A repetition of a repetition takes both sides forever.
            often = ["", "?"] if re.search(r"[*+}]|[^(]\?", inner) else _QUANTIFIERS
            parts.append(f"{opened}{inner}){chance.choice(often)}")
        elif chance.random() < 0.15:
            parts.append(chance.choice(_PLACES))
        else:
            parts.append(chance.choice(_ATOMS) + chance.choice(_QUANTIFIERS))
    made = "".join(parts)
    if chance.random() < 0.2:
        made += "|" + regex(chance, depth + 1) if depth < 2 else "|b"
    return made


def route(chance: random.Random) -> tuple[str, str]:
    """An expression that matches much, and what it becomes."""
    made = regex(chance)
    if chance.random() < 0.7:
        made = f"({made}).*" if chance.random() < 0.5 else f"(.*?){made}(.*)"
    return made, "".join(chance.choice(_REPLACEMENTS) for _ in range(chance.randint(1, 3)))
