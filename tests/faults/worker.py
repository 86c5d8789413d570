"""Do the jobs of `scripts/faults` in one copy of the tree: a job is a line of JSON on standard input, as is its answer.

It imports what takes long to import and is not the product's once, and forks for each run of pytest. What a run leaves
behind is killed: this process adopts it. It imports nothing of the tree it runs from.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import mmap
import os
import shutil
import signal
import sys
import time
import traceback
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = sys.path.pop(0)
IMPORTED_ONCE = (
    "alembic",
    "aiomqtt",
    "anyio._backends._asyncio",
    "anyio.pytest_plugin",
    "axelrod",
    "cryptography.x509",
    "gymnasium",
    "httpx2",
    "hypothesis",
    "jinja2",
    "markdown_it",
    "mcp",
    "mpmath",
    "msgpack",
    "msgspec",
    "networkx",
    "numba",
    "numpy",
    "pettingzoo",
    "prometheus_client",
    "psycopg",
    "pygments",
    "pytest",
    "_hypothesis_pytestplugin",
    "pytest_asyncio.plugin",
    "pytest_cov.plugin",
    "rich.console",
    "sqlalchemy.orm",
    "starlette.applications",
    "tomli_w",
    "trueskill",
    "typer",
    "uvicorn",
    "uvloop",
    "websockets.asyncio.server",
)
"""Third-party modules that tests import."""
HANG_TIMEOUT_S = 45.0
"""A test hangs if none of its processes has run for this long, and for three times as long as the test takes."""
CPU_FACTOR, CPU_MARGIN_S = 6.0, 15.0
"""A test does not end if it takes this many times the processor time that it took before, and these seconds more."""
POLL_INTERVAL_S = 0.5
STOP_TIMEOUT_S = 20.0
"""This process was stopped if it has not polled for this long: tests may have exceeded limits for that reason."""
UNMEASURED_S = (20.0, 30.0)
"""The processor and wall seconds assumed for a test that was not measured, and for imports."""
TICKS = os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, thread.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    found = children(pid)
    return found + [other for child in found for other in descendants(child)]


def usage(pids: Sequence[int]) -> tuple[float, bool]:
    """Return the processor seconds of processes and their ended children, and whether any of them wants to run."""
    ticks, busy = 0, False
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            busy |= fields[0] in "RD"
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS, busy


def reap() -> dict[int, int]:
    """Return the exit codes of ended children, with those whose own parent has ended."""
    codes = {}
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])
    return codes


class Runs:
    """Run pytest in forks of this process, in the copy of the tree that is its working directory."""

    def __init__(self) -> None:
        self.tree = Path.cwd()
        self.scratch = Path(os.environ["TMPDIR"])
        self.shared = memoryview(mmap.mmap(-1, 4096)).cast("Q")
        self.undo = self.tree.with_name(f"{self.tree.name}.undo")
        """The path of a file with the text that has no fault: it outlives this process if that is killed."""

    def remove_fault(self) -> None:
        """Remove the fault from the tree."""
        name, text, moment = json.loads(self.undo.read_text())
        (self.tree / name).write_text(text)
        os.utime(self.tree / name, ns=(moment, moment))
        self.undo.unlink()

    def run(
        self, words: Sequence[str], plugin: Any, limits: Sequence[tuple[float, float]], cpu_limit: float
    ) -> dict[str, Any]:
        """Run pytest; stop it when a test exceeds its limits, which follow from the seconds that it took before."""
        self.shared[0] = self.shared[1] = 0
        began = time.monotonic()
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            self._pytest(words, plugin)
        ended, test, asleep, total = "", 0, time.monotonic(), 0.0
        at_start = 0.0
        status = None
        stopped, polled = False, time.monotonic()
        while status is None:
            if pid in (codes := reap()):
                status = codes[pid]
                break
            time.sleep(POLL_INTERVAL_S)
            cpu, busy = usage([pid, *descendants(pid)])
            now = time.monotonic()
            stopped |= now - polled > STOP_TIMEOUT_S
            busy |= cpu > total + 0.02 or now - polled > STOP_TIMEOUT_S
            polled = now
            total = max(total, cpu)
            if busy or test != self.shared[0]:
                asleep = now
            if test != self.shared[0]:
                test, at_start = self.shared[0], total
            took = limits[test - 1] if limits and test else UNMEASURED_S
            if total - at_start > took[0] * CPU_FACTOR + CPU_MARGIN_S:
                ended = "cpu"
            elif now - asleep > took[1] * 3 + HANG_TIMEOUT_S:
                ended = "hung"
            elif total > cpu_limit:
                ended = "limit"
            if ended:
                os.kill(pid, signal.SIGKILL)
                break
        self.clear()
        return {
            "code": status,
            "ended": ended,
            "stopped": stopped,
            "at": self.shared[0],
            "missing": self.shared[1],
            "cpu": round(total, 2),
            "wall": round(time.monotonic() - began, 1),
        }

    def _pytest(self, words: Sequence[str], plugin: Any) -> None:
        code = 70
        try:
            import pytest

            sys.modules["__main__"] = ModuleType("__main__")  # what processes that multiprocessing spawns would import
            os.setsid()
            log = os.open(self.scratch.parent / f"{self.scratch.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            code = int(pytest.main([*words, "-p", "no:cacheprovider", "-p", "no:randomly"], plugins=[plugin()]))
            atexit._run_exitfuncs()
        except BaseException:  # whatever it is, this is not the parent
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def clear(self) -> None:
        """Kill the processes that a run left, and remove what it wrote."""
        while left := descendants(os.getpid()):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            reap()
            time.sleep(0.01)
        for path in self.scratch.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def map_lines(runs: Runs, job: dict[str, Any]) -> dict[str, Any]:
    """Run all tests of some files and write which lines each runs."""
    import fault_recorder
    import numpy

    folder = Path(fault_recorder.FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "test").write_bytes(bytes(fault_recorder.SHARED_BYTES))
    (folder / "test").chmod(0o666)
    told = folder / "tests.jsonl"
    told.touch()
    done: list[str] = []
    hung: list[str] = []
    answers = []

    def plugin() -> Any:
        sys.path.insert(0, HERE)
        from fault_plugins import LineMap

        sys.path.pop(0)
        recorder = fault_recorder.start()
        return LineMap(recorder, told, runs.shared, job["without"], done)

    while True:
        answer = runs.run([*job["files"], *job["words"]], plugin, [], job["cpu_limit"])
        answers.append(answer)
        lines = [json.loads(line) for line in told.read_text().splitlines()]
        ended = {line["number"] for line in lines if "seen" in line}
        again = {"failed"} if answer["stopped"] else set()
        told_of = [line["test"] for line in lines if "test" in line and line["outcome"] not in again]
        done = [*told_of, *hung]
        broken = [line["begun"] for line in lines if "begun" in line and line["number"] not in ended]
        if answer["ended"] and broken and broken[-1] not in done:
            hung.append(broken[-1])
            done.append(broken[-1])
        elif not answer["stopped"]:
            break
    seen: dict[int, Any] = {}
    for line in lines:
        if "seen" in line:
            bits = numpy.frombuffer(zlib.decompress(b64decode(line["seen"])), dtype=numpy.uint8)
            seen[line["number"]] = bits.copy()
    for path in folder.iterdir():
        number = path.name.partition("-")[0]
        if number.isdigit() and int(number) in seen:
            bits = numpy.fromfile(path, dtype=numpy.uint8)
            if len(bits) == len(seen[int(number)]):
                seen[int(number)] |= bits
    shutil.rmtree(folder)
    last = {line["test"]: line["number"] for line in lines if "test" in line}
    with open(job["out"] + ".part", "w") as out:
        out.write(json.dumps({"files": job["files"]}) + "\n")
        for line in lines:
            if last.get(line.get("test")) == line["number"] and "test" in line:
                bits = seen[line["number"]]
                for number in line.pop("using"):
                    bits |= seen[number]
                del line["number"]
                line["seen"] = b64encode(zlib.compress(numpy.packbits(bits).tobytes(), 6)).decode()
                out.write(json.dumps(line) + "\n")
    os.replace(job["out"] + ".part", job["out"])
    return {"runs": answers, "tests": len(done), "cpu": round(sum(answer["cpu"] for answer in answers), 1)}


def try_fault(runs: Runs, job: dict[str, Any]) -> dict[str, Any]:
    """Put a fault into the tree, run tests in portions until one is red, and remove the fault."""
    path = runs.tree / job["file"]
    original, stamp = path.read_text(), path.stat()
    red = runs.scratch.parent / f"{runs.scratch.name}.red"
    answer: dict[str, Any] = {"state": "survived", "ran": 0, "cpu": 0.0, "wall": 0.0, "missing": 0}
    try:
        runs.undo.write_text(json.dumps([job["file"], original, stamp.st_mtime_ns]))
        path.write_text(job["text"])
        moment = int(stamp.st_mtime) + 1000 + job["number"]  # what is compiled of it is known by the second
        os.utime(path, (moment, moment))
        for tests in job["portions"]:
            red.unlink(missing_ok=True)
            names = [name for name, _, _ in tests]

            def plugin(names: list[str] = names) -> Any:
                sys.path.insert(0, HERE)
                from fault_plugins import ChosenTests

                sys.path.pop(0)
                return ChosenTests(names, runs.shared, red)

            files = list(dict.fromkeys(name.partition("::")[0] for name in names))
            limits = [(cpu, wall) for _, cpu, wall in tests]
            left = job["cpu_limit"] - answer["cpu"]
            done = runs.run([*files, "-x", *job["words"]], plugin, limits, left)
            answer["cpu"] = round(answer["cpu"] + done["cpu"], 2)
            answer["wall"] = round(answer["wall"] + done["wall"], 1)
            answer["missing"] += done["missing"]
            if done["stopped"]:
                return answer | {"state": "error", "says": "the worker was stopped for a while"}
            at = names[done["at"] - 1] if done["at"] else ""
            if red.exists():
                return answer | {"state": "found", "by": "assertion", **json.loads(red.read_text())}
            if done["ended"] in ("cpu", "hung"):
                return answer | {"state": "found", "by": done["ended"], "test": at}
            if done["ended"] == "limit":
                return answer | {
                    "state": "survived",
                    "left": sum(map(len, job["portions"])) - answer["ran"] - done["at"],
                }
            if done["code"] not in (0, 1, 5):  # 1 without a red test: what the tests cost together is judged too
                log = (runs.scratch.parent / f"{runs.scratch.name}.log").read_text(errors="replace")
                return answer | {"state": "found", "by": f"exit {done['code']}", "test": at, "says": log[-300:]}
            answer["ran"] += len(tests)
            if answer["cpu"] > job["cpu_limit"]:
                break
        return answer | {"left": sum(map(len, job["portions"])) - answer["ran"]}
    finally:
        runs.remove_fault()


def main() -> None:
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not outlive a fork
    for name in IMPORTED_ONCE:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    del os.environ["OPENBLAS_NUM_THREADS"]
    gc.freeze()  # pytest has all objects looked at several times
    runs = Runs()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = {"map": map_lines, "fault": try_fault}[job["kind"]](runs, job)
        except Exception:  # told, and the next job is done
            answer = {"state": "error", "says": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
