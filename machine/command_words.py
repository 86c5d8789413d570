"""Command lines as they stand in one word, split as the system's shell does."""

from __future__ import annotations

import shlex
import sys


def split_command(text: str, *, windows: bool = sys.platform == "win32") -> list[str]:
    """Split a command line into its words, in which quotes keep blanks; on Windows a backslash is part of a path.

    Raises `ValueError` where a quote is not closed.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if windows:
        lexer.escape = ""
        lexer.quotes = '"'
    return list(lexer)
