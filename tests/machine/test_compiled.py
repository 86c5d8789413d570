"""Where compiled code is kept. What it computes is tested with the searches that use it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from machine.compiled import HAS_NUMBA, _announce_once
from machine.file_lock import lock

pytestmark = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed, or not asked for")

SOURCE = """
from machine.compiled import entry

@entry
def twice(number):
    return 2 * number
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "package" / "sources"
    folder.mkdir(parents=True)
    written(folder / "kernel.py", SOURCE, tmp_path)
    return folder


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said(steps: str, folder: Path) -> str:
    """What another Python prints that runs `steps` in `folder`."""
    command = [sys.executable, "-B", "-c", steps]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def said_by_a_fork(steps: str, folder: Path) -> str:
    """What a fork of this process prints that runs `steps` in `folder`: it need not import numba."""
    printed = folder / "printed"

    def child() -> None:
        os.chdir(folder)
        sys.path.insert(0, "")
        sys.dont_write_bytecode = True
        with printed.open("w") as out, contextlib.redirect_stdout(out):
            exec(steps, {})

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0
    return printed.read_text()


def test_compiled_code_is_kept_in_the_users_cache_folder_and_who_sits_at_a_terminal_is_told_of_it_once(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told = []
    for _ in range(2):
        monkeypatch.setattr("sys.stderr", terminal := Terminal())
        _announce_once.cache_clear()
        assert imported(sources / "kernel.py").twice(21) == 42
        told.append(terminal.getvalue())
    assert len(list((tmp_path / "cache" / "bot-arena").rglob("kernel.twice-*.nbi"))) == 1
    assert told == ["compiling code, once, which takes up to half a minute…\n", ""]


def test_numba_is_imported_with_the_first_loop_and_not_before(sources: Path) -> None:
    steps = "import sys, machine.compiled; print('numba' in sys.modules); import kernel; print('numba' in sys.modules)"
    assert said(steps, sources) == "False\nTrue\n"


def test_a_numba_that_cannot_be_imported_is_refused_in_one_line(sources: Path) -> None:
    (sources / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less')\n")
    steps = """
from protocol.errors import UsageFault
try:
    import kernel
except UsageFault as fault:
    print(fault)
"""
    expected = "numba is installed but can't be used: Numba needs NumPy 2.2 or less (ARENA_PLAIN=1 runs without it)\n"
    assert said(steps, sources) == expected


def test_code_is_compiled_anew_when_a_constant_that_another_file_hands_on_has_changed(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "package" / "middle.py").write_text("from elsewhere.far.constants import FACTOR\n")
    (sources / "kernel.py").write_text("from package.middle import FACTOR\n" + SOURCE.replace("2 *", "FACTOR *"))
    for factor in (2, 3):
        written(tmp_path / "elsewhere/far/constants.py", f"FACTOR = {factor}\n", tmp_path)
        steps = "from package.sources import kernel; print(kernel.twice(7))"
        assert said_by_a_fork(steps, tmp_path) == f"{factor * 7}\n"


def test_another_checkout_of_the_same_sources_loads_what_was_compiled_whenever_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = []
    for number, checkout in enumerate(("one", "two", "changed")):
        kernel = tmp_path / checkout / "package" / "kernel.py"
        written(kernel, SOURCE.replace("2 *", "3 *") if checkout == "changed" else SOURCE, tmp_path / checkout)
        written(kernel.with_name("unrelated.py"), f"NUMBER = {number}\n", tmp_path / checkout)
        os.utime(kernel, (number, number))
        twice = imported(kernel).twice
        found.append((twice(21), twice.stats.cache_hits.total(), twice.stats.cache_misses.total()))
    assert found == [(42, 0, 1), (42, 1, 0), (63, 0, 1)]


def test_one_process_at_a_time_saves_code(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that save at once would give the code of two signatures one file."""
    from numba.core.caching import IndexDataCacheFile

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save = IndexDataCacheFile.save
    others = []

    def save_beside_another(file: IndexDataCacheFile, *what: Any) -> None:
        (locked,) = tmp_path.rglob("lock")
        with locked.open("ab") as other:
            with pytest.raises(BlockingIOError):
                lock(other.fileno(), wait=False)
            save(file, *what)  # type: ignore[no-untyped-call]
        others.append(what[0][0])

    monkeypatch.setattr(IndexDataCacheFile, "save", save_beside_another)
    twice = imported(sources / "kernel.py").twice
    assert (twice(21), twice(2.5)) == (42, 5.0)
    assert len(others) == 2
    again = imported(sources / "kernel.py").twice
    assert (again(21), again(2.5)) == (42, 5.0)
    assert again.stats.cache_hits.total() == 2


@pytest.mark.nightly
def test_processes_that_compile_at_once_keep_the_code_of_each(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    numbers = ("21", "2.5", "2j", "True", "numpy.int8(3)", "numpy.float32(1.5)")
    steps = "import numpy, kernel; print(kernel.twice({}))"
    programs = [subprocess.Popen([sys.executable, "-B", "-c", steps.format(number)], cwd=sources) for number in numbers]
    assert [one.wait() for one in programs] == [0] * len(numbers)
    results = f"import numpy; from kernel import twice; print(*map(twice, [{', '.join(numbers)}]))"
    assert said(f"{results}; print(twice.stats.cache_misses.total())", sources) == "42 5.0 4j 2 6 3.0\n0\n"


def written(file: Path, text: str, root: Path) -> None:
    """Write a source, in folders that are packages up to `root`."""
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    for folder in file.relative_to(root).parents[:-1]:
        (root / folder / "__init__.py").touch()


def test_where_the_cache_folder_cannot_be_written_nothing_is_kept_beside_the_sources(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert imported(sources / "kernel.py").twice(21) == 42
    assert not list(tmp_path.rglob("*.nbi"))
