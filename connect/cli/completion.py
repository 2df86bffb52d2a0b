"""`connect completion`: completion by the Tab key, in three shells.

The scripts only call `connect completion --words WORD...`, which knows every command and its options from their
declarations, and the names of connectors and loggers from the cluster that the words, or the environment, name.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from itertools import pairwise

from connect.cli._credentials import Credentials
from connect.cli._exit import OK
from connect.cli._rest_client import DEFAULT_URL, RestClient
from connect.errors import ConnectError

HELP = """\
Print the script that completes commands, options, files, and the names of the cluster's connectors.

examples:
  eval "$(connect completion bash)"                             in ~/.bashrc
  eval "$(connect completion zsh)"                              in ~/.zshrc, after compinit
  connect completion fish > ~/.config/fish/completions/connect.fish"""

# Said instead of candidates: the shell completes the names of files.
FILES = ":files"
_PATIENCE_S = 2.0
_MANY = ("+", "*")

_SCRIPTS = {
    "bash": r"""
_connect_complete() {
    # Not COMP_WORDS: bash splits an address at its colons.
    local line=${COMP_LINE:0:COMP_POINT} words found candidate
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    mapfile -t found < <("$1" completion --words "${words[@]:1}" 2> /dev/null)
    COMPREPLY=()
    if [[ ${found[0]-} == :files ]]; then
        compopt -o default
        return
    fi
    # What bash takes for the word begins after the last colon.
    local last=${words[-1]} current=${COMP_WORDS[COMP_CWORD]}
    [[ $current == : ]] && current=
    for candidate in "${found[@]}"; do
        COMPREPLY+=("$(printf %q "${candidate#"${last%"$current"}"}")")
    done
}
complete -F _connect_complete connect
""",
    "zsh": r"""
#compdef connect
_connect() {
    local -a found
    found=("${(@f)$("${words[1]}" completion --words "${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
    if [[ ${found[1]} == :files ]]; then
        _files
    elif [[ -n ${found[1]} ]]; then
        compadd -- "${found[@]}"
    fi
}
if [[ ${funcstack[1]} == _connect ]]; then _connect "$@"; else compdef _connect connect; fi
""",
    "fish": r"""
function __connect_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l found ($program completion --words $words "$current" 2> /dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $found
    end
end
complete -c connect -f -a '(__connect_complete)'
""",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("shell", nargs="?", choices=list(_SCRIPTS))
    asked.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Print the script, or the candidates."""
    if args.shell:
        print(_SCRIPTS[args.shell].lstrip())
    else:
        # No line where there is none: an empty one would be a candidate, and replace what was typed.
        for candidate in candidates(args.words):
            print(candidate)
    return OK


def candidates(words: Sequence[str]) -> list[str]:
    """Candidates for the last word, given those before it; `:files` alone for the name of a file."""
    from connect.cli._main import parser_for

    *before, current = words or [""]
    parser, wanted = _place(parser_for(before), before)
    if current.startswith("-"):
        shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        found: Iterable[str] = [name for action in shown for name in action.option_strings if name.startswith("--")]
    elif wanted is None:
        found = []
    elif wanted.choices is not None:
        found = wanted.choices
    elif wanted.metavar == "FILE":
        return [FILES]
    else:
        found = _names(wanted.metavar, before)
    return sorted(name for name in found if name.startswith(current) and name not in before)


def _place(
    parser: argparse.ArgumentParser, before: Sequence[str]
) -> tuple[argparse.ArgumentParser, argparse.Action | None]:
    """The position of the next word: in which command, and as what."""
    positionals = _positionals(parser)
    option: argparse.Action | None = None
    for word in before:
        if word.startswith("-") and len(word) > 1:
            action = parser._option_string_actions.get(word)
            option = action if action is not None and action.nargs != 0 else None
        elif option is not None:
            option = option if option.nargs in _MANY else None
        elif positionals:
            action = positionals[0]
            if isinstance(action, argparse._SubParsersAction):
                if word not in action.choices:
                    return parser, None
                parser = action.choices[word]
                positionals = _positionals(parser)
            elif action.nargs not in _MANY:
                del positionals[0]
    return parser, option or next(iter(positionals), None)


def _positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if not action.option_strings]


def _names(of: object, before: Sequence[str]) -> list[str]:
    """The names in the cluster; none where it does not answer soon, for the Tab key must not hang."""
    path = {"CONNECTOR": ("connectors",), "LOGGER": ("admin", "loggers")}.get(str(of))
    if path is None:
        return []
    given = dict(pairwise(before))
    url = given.get("--url") or os.environ.get("CONNECT_URL") or DEFAULT_URL
    ca = given.get("--ca") or given.get("--cacert")
    names = ("user", "password-file", "token-file", "cert", "key")
    user, password, token, cert, key = (given.get(f"--{name}") for name in names)
    credentials = Credentials(user, password, token, cert, key, ask=False)
    try:
        return list(RestClient(url, ca=ca, timeout=_PATIENCE_S, credentials=credentials).get(*path))
    except ConnectError:
        return []
