"""Printing to a terminal: control codes and invisible characters in the text are escaped.

It is the only module of the commands of arena and bots that prints; rich output goes through `machine/console.py`.
"""

from __future__ import annotations

import sys

from protocol.display import escape_unprintable


def say(text: str = "", *, err: bool = False, end: str = "\n", flush: bool = False) -> None:
    """Print lines to standard output or standard error.

    They are written in one call: if the process is killed, or others write to the same terminal, lines stay whole.
    Characters that the stream's encoding lacks, as in files on Windows, are escaped.
    """
    stream = sys.stderr if err else sys.stdout
    line = escape_unprintable(text, lines=True) + end
    try:
        stream.write(line)
    except UnicodeEncodeError:
        stream.write(line.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
    if flush or err:
        stream.flush()
