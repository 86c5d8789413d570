"""Printing to a terminal: control codes and invisible characters in the text are escaped.

The commands of arena and bots print only through this module, or through `machine/console.py` for output by the library
rich.
"""

from __future__ import annotations

import sys

from protocol.display import escape_unprintable


def say(text: str = "", *, err: bool = False, end: str = "\n", flush: bool = False) -> None:
    """Print lines to standard output or standard error.

    All lines are written in one call. So lines stay whole even if the process is killed or other processes write to the
    same terminal. Characters that the stream's encoding lacks, as in files on Windows, are escaped.
    """
    stream = sys.stderr if err else sys.stdout
    line = escape_unprintable(text, lines=True) + end
    try:
        stream.write(line)
    except UnicodeEncodeError:
        stream.write(line.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
    if flush or err:
        stream.flush()
