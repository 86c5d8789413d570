"""A disk cache of numba's compiled code, keyed by the content of its sources.

Numba's own cache keys by path and modification time, so every checkout of the same sources would compile again. This
module imports numba, so it is only imported when the first function is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from machine.cache import cache_folder
from machine.file_lock import lock
from machine.source_digest import digest


@cache
def compiled_folder(module: Path) -> Path | None:
    """Return the folder for the compiled code of a module, named after a digest of all its sources.

    Return None if a source cannot be read or the folder cannot be written. In that case numba caches beside the
    sources.
    """
    try:
        folder = cache_folder() / f"compiled-{digest(module)}"
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


class _Locator(_CacheLocator):
    """The object that tells numba where to cache the code of a function."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder = folder
        self._line = line

    @classmethod
    def from_function(cls, function: Callable[..., Any], path: str) -> _Locator | None:
        folder = compiled_folder(Path(path).absolute())
        return cls(folder, function.__code__.co_firstlineno) if folder else None

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return a text that changes whenever the sources change: the name of the cache folder."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Return the line of the function, which distinguishes functions with the same name in one module."""
        return str(self._line)


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any]) -> None:
        self._locator_classes = [_Locator]
        super().__init__(function)  # type: ignore[no-untyped-call]


class CompiledCache(FunctionCache):
    """The disk cache of one function's compiled code."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code under a lock. Otherwise, two processes could give one file name to different code."""
        with (Path(self.cache_path) / "lock").open("ab") as file:
            lock(file.fileno())
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
