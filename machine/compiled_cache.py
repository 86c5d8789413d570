"""Keeps numba's compiled code by what it was made from, wherever its source lies and whenever it was written.

Numba's own cache asks for the path and the modification time of a source: another checkout of the same sources would
compile everything again. This module imports numba, so it is imported with the first function to be compiled.
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
    """Return the folder for the code that is compiled from a module, named after all its sources.

    Return None where a source cannot be read or nothing can be written: numba would keep the code beside the sources.
    """
    try:
        folder = cache_folder() / f"compiled-{digest(module)}"
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


class _Locator(_CacheLocator):
    """Tells numba where the code of a function is kept."""

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
        """Return what changes with the sources, as the name of the folder does."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Return what tells functions of one name apart in one module."""
        return str(self._line)


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any]) -> None:
        self._locator_classes = [_Locator]
        super().__init__(function)  # type: ignore[no-untyped-call]


class CompiledCache(FunctionCache):
    """The code that is kept on disk of one function."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled, one process at a time: two at once would give different code the same file name."""
        with (Path(self.cache_path) / "lock").open("ab") as file:
            lock(file.fileno())
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
