"""Messages for authors whose programs use the library wrongly. Each is one line; Python itself would print a traceback,
or nothing.

This module imports only the standard library: a file of the author may hide one of the project's packages.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[1]
"""The folder that contains this project's packages."""
PACKAGES = ("arena", "bots", "games", "machine", "measuring", "protocol", "referee")
"""The names of this project's packages."""
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""The folders of Python's standard library and of installed libraries."""
_has_made_bot = False
"""True if this process has made a bot."""


class Hidden(ImportError):
    """A file of the author has the same name as a module, so Python imports the file instead of the module."""


def check_hidden(packages: Iterable[str]) -> None:
    """Raise `Hidden` if a file of the author has the name of one of these packages: Python would import the file."""
    for name in packages:
        spec = importlib.util.find_spec(name)
        origin = spec.origin if spec is not None else None
        if origin is not None and Path(origin).resolve().parents[1] != ROOT:
            raise Hidden(
                f"{origin} hides the package {name} of Bot Arena: rename it; no file or folder beside a bot may be "
                f"called {', '.join(PACKAGES)}"
            )


@contextmanager
def importing() -> Iterator[None]:
    """Raise `Hidden` if an import in this context fails because a file of the author hides another module."""
    try:
        yield
    except (ImportError, AttributeError) as exc:
        for name, file in _modules_of(exc):
            if name.partition(".")[0] not in (*PACKAGES, "__main__") and _is_beside(file):
                text = f"{file} is imported in the place of another module that is called {name}: rename it"
                raise Hidden(text) from None
        raise


def _modules_of(exc: BaseException) -> Iterator[tuple[str, str]]:
    """Yield name and file of each module that an exception passed through, or that lacked an imported name."""
    if isinstance(exc, ImportError):
        name = str(exc.name).partition(".")[0]  # of `websockets.asyncio` it is `websockets` that is no package
        yield name, str(exc.path or getattr(sys.modules.get(name), "__file__", None))
    of = getattr(exc, "obj", None)
    places = [] if of is None else [getattr(of, "__dict__", {})]
    trace = exc.__traceback__
    while trace is not None:
        places.append(trace.tb_frame.f_globals)
        trace = trace.tb_next
    for place in places:
        yield str(place.get("__name__")), str(place.get("__file__"))


def _is_beside(file: str) -> bool:
    """Return whether a file is in the folder of the running program."""
    return Path(file).is_file() and Path(file).resolve().parent == Path(sys.argv[0] or ".").resolve().parent


def report_faults_in_a_line() -> None:
    """Make a program that ends with a `Fault` print one line instead of a traceback. The line has the place in the
    author's code, such as `mine.py, line 6`, and the fault's message.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _excepthook


def _excepthook(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    fault = exc if isinstance(exc, (Hidden, *_find_error_classes("Fault"))) else None
    if fault is None or _is_interactive():
        sys.__excepthook__(kind, exc, trace)
        return
    _say(f"{_last_own_line(trace)}: {fault}")
    usage = isinstance(fault, (Hidden, *_find_error_classes("UsageFault"), *_find_error_classes("BotFault")))
    raise SystemExit(2 if usage else 1)


def _say(text: str) -> None:
    """Print a line on standard error. Escape unprintable characters, if the package for this can be imported."""
    display = sys.modules.get("protocol.display")
    with contextlib.suppress(ImportError):  # it may be what is hidden
        from machine import standard_streams

        standard_streams.prepare()
    print(text if display is None else display.escape_unprintable(text, lines=True), file=sys.stderr)  # noqa: T201


def _find_error_classes(name: str) -> tuple[type, ...]:
    """Return the error class with this name in protocol/errors.py, in a tuple; an empty tuple if it is not imported."""
    errors = sys.modules.get("protocol.errors")
    return () if errors is None else (getattr(errors, name),)


def _last_own_line(trace: TracebackType | None) -> str:
    """Return the last line of the author's code in a traceback, as `mine.py, line 6`."""
    found = program_name()
    while trace is not None:
        code = trace.tb_frame.f_code
        if str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] not in (
            *PACKAGES,
            "contextlib",
            "importlib",
        ):
            found = f"{Path(code.co_filename).name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def is_of_project(file: str) -> bool:
    """Return whether a Python file belongs to this project."""
    return file.startswith(tuple(str(ROOT / name) + os.sep for name in PACKAGES))


def is_library(file: str) -> bool:
    """Return whether a Python file belongs to this project, a library or Python, and not to the author."""
    return is_of_project(file) or file.startswith((*_LIBRARIES, "<"))


def program_name() -> str:
    """Return the name of the file that Python runs."""
    return Path(sys.argv[0]).name or "python"


def _is_interactive() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def constructor_call(cls: type) -> str:
    """Return the call with which an author makes a bot of this class."""
    return f'{cls.__name__}("{cls.__name__.lower()}")'


def missing_method_message(cls: type, method: str, form: str) -> str:
    """Return the message for a class that lacks a method. It names a similar method of the class, if there is one."""
    own = [name for each in cls.__mro__ if each.__module__.partition(".")[0] not in PACKAGES for name in vars(each)]
    near = get_close_matches(method, [name for name in own if not name.startswith("__")], n=1)
    rest = f"rename {near[0]} to {method}" if near else f"write {form}"
    return f"{cls.__name__} has no method {method}: {rest}"


def call_mistake(method: Callable[..., object]) -> str:
    """Return why a method cannot be called with one argument and without `await`; empty text if it can."""
    if inspect.iscoroutinefunction(method):
        return "is async, but is never awaited"
    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return "can't be called with a turn"
    except ValueError:  # a callable without a signature
        return ""
    return ""


def note_bot_made() -> None:
    """Note that the program has made a bot, so that `expect_run` prints nothing."""
    global _has_made_bot
    _has_made_bot = True


def expect_run(cls: type, base: type) -> None:
    """Arrange that a message is printed at the program's end if it defines a subclass of `base` but made no bot. Ignore
    the subclass `cls` if the program imported it from elsewhere.
    """
    if cls.__module__ == "__main__" and hasattr(sys.modules.get("__main__"), "__file__"):
        atexit.unregister(_tell_never_run)
        atexit.register(_tell_never_run, base)


def _tell_never_run(base: type) -> None:
    main = sys.modules["__main__"]
    if _has_made_bot or _is_interactive() or hasattr(sys, "last_type"):
        return
    if hasattr(main, "__file__"):  # Python takes it away at the end of the file: somebody ended the program before
        return
    own = [value for value in vars(main).values() if is_own(value, base)]  # not those of programs that were loaded
    if own:
        what = f"{own[-1].__name__} but never runs it: end it with run({constructor_call(own[-1])})"
        _say(f"{program_name()} defines {what}")


def is_own(value: object, base: type) -> bool:
    """Return whether a value is a subclass of `base` that the running program itself defines."""
    return isinstance(value, type) and issubclass(value, base) and value.__module__ == "__main__"
