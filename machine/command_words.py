"""Splitting of command lines into words, by the rules of the system's shell."""

from __future__ import annotations

import shlex
import sys


def split_command(text: str, *, windows: bool = sys.platform == "win32") -> list[str]:
    """Split a command line into words. Quotes keep blanks in a word. With `windows`, backslashes are ordinary
    characters. Raise `ValueError` if a quote or an escape is incomplete.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if windows:
        lexer.escape = ""
        lexer.quotes = '"'
    return list(lexer)
