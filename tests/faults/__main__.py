"""Put random faults into all packages of the product and ask of each which test finds it. `scripts/faults` runs it.

A run has a folder. In it lie copies of the tree, one for each worker; the faults that were drawn; a map of which test
runs which of the lines that concern a fault, in its own process and in those that it starts; and the outcome of each
fault. The same command, given again, goes on where it was stopped.

For a fault only those tests run that touch its line, until one is red: first those that are cheap and run little
besides the module of the fault. Every test that imports a module touches the lines that run when it is imported. For
such a line those tests run that touch a line in a function which mentions the name that it defines, then those that
touch any function of the module. A line of a function that numba compiles is touched where the function is called.

    scripts/faults /tmp/faults --count 200 --seed 7
    scripts/faults /tmp/faults-later --revision main --like /tmp/faults   # the same faults in another version

Files in the folder: `faults.jsonl`, `map/*.jsonl`, `results.jsonl` (with `state`: found, survived, untouched).
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import venv
import zlib
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from sites import COMPILED, PACKAGES, Fault, carried, draw, place, put_in

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES_PER_JOB = 8
DEAR_FOLDERS = ("tests/web/", "tests/browser/")
MAP_CPU_LIMIT_S = 3600.0
FIRST_PORTION_S = 1.0
"""The processor seconds of the tests that are run first; each further portion is three times as large."""
FILE_COST_S = 0.15
"""The processor seconds that importing a file of tests takes, about."""
PROFILE = ["--hypothesis-profile=mutants"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults", description="Random faults, and which tests find them.")
    parser.add_argument("folder", type=Path, help="where everything is kept, to go on from")
    parser.add_argument("--count", type=int, default=200, help="faults to draw and to try (200)")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn by (1)")
    parser.add_argument("--revision", help="of git, instead of the tree as it is")
    parser.add_argument("--like", type=Path, help="folder of another run whose faults are put into this version")
    parser.add_argument("--workers", type=int, default=2, help="copies of the tree that are worked in at a time (2)")
    parser.add_argument("--first-copy", type=int, default=0, help="let another step run beside in other copies (0)")
    parser.add_argument("--cpu-limit", type=float, default=90.0, help="processor seconds for a fault (90)")
    parser.add_argument(
        "--without", default="[postgresql", help="leave out tests with this in their names ([postgresql)"
    )
    parser.add_argument("--step", choices=("draw", "map", "try", "report"), help="do this step alone")
    options = parser.parse_args()
    if sys.version_info < (3, 12):
        parser.error("Python 3.12 or later is needed: it tells which lines run")
    options.folder.mkdir(parents=True, exist_ok=True)
    options.folder = options.folder.absolute()
    numbers = range(options.first_copy, options.first_copy + options.workers)
    copies = [make_copy(options.folder, number, options.revision) for number in numbers]
    if options.step in (None, "draw"):
        draw_faults(options.folder, copies[0], options)
    if options.step in (None, "map"):
        map_lines(options.folder, copies, options.without)
    if options.step in (None, "try"):
        try_faults(options.folder, copies, options)
    if options.step in (None, "report"):
        report(options.folder, options.like)


def make_copy(folder: Path, number: int, revision: str | None) -> Path:
    """Make a copy of the tree whose environment has programs that tests start run this copy. Return its folder."""
    tree = folder / f"tree-{number}"
    if (tree / ".venv" / "made").exists():
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    if revision:
        packed = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x"], cwd=tree, input=packed.stdout, check=True)
    else:
        sys.path += [str(ROOT), str(HERE.parent)]
        from mutants import copy_tree

        copy_tree(tree)
    venv.create(tree / ".venv", symlinks=True)
    libraries = Path(sysconfig.get_path("purelib", vars={"base": str(tree / ".venv"), "platbase": str(tree / ".venv")}))
    # In its own prefix, as a sandbox shows nothing else.
    shutil.copytree(sysconfig.get_path("purelib"), libraries, copy_function=link_or_copy, dirs_exist_ok=True)
    (libraries / "tree.pth").write_text(f"{tree}\nimport fault_recorder\n")
    shutil.copy(HERE / "recorder.py", libraries / "fault_recorder.py")
    programs = tree / ".venv" / "bin"
    install = [
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--use-pep517",
        "--no-deps",
        "--editable",
    ]
    subprocess.run([programs / "python", *install, tree], check=True)
    for program in Path(sysconfig.get_path("scripts")).iterdir():
        if not (programs / program.name).exists():
            (programs / program.name).symlink_to(program)
    (tree / ".venv" / "made").touch()
    return tree


def link_or_copy(source: str, target: str) -> None:
    """Link a file where its file system has links, else copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def recorder_plan(tree: Path) -> Path:
    """Return the file that tells the recorder of a copy which lines to watch."""
    (recorder,) = (tree / ".venv").glob("lib/*/site-packages/fault_recorder.py")
    return recorder.with_name("recorder.json")


class Worker:
    """Do jobs in a process, in one copy of the tree."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.scratch = Path(tempfile.mkdtemp(prefix="faults-"))
        self.scratch.chmod(0o755)  # servers that tests start run as other users
        (self.scratch / "t").mkdir()
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("ARENA_", "PYTEST_"))}
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            inherited.pop(name, None)
        programs = tree / ".venv" / "bin"
        environ = {
            **inherited,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(tree / ".venv"),
            "TMPDIR": str(self.scratch / "t"),
            "XDG_CACHE_HOME": str(tree.parent / f"cache-{tree.name}"),
        }
        self.process = subprocess.Popen(
            [programs / "python", HERE / "worker.py"],
            cwd=tree,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker in {self.tree} has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


def work(
    copies: Sequence[Path], jobs: Iterable[dict[str, Any]], done: Callable[[dict[str, Any], dict[str, Any]], None]
) -> None:
    """Do all jobs, by a worker in each copy."""
    waiting = iter(jobs)
    lock = threading.Lock()

    def next_job() -> dict[str, Any] | None:
        with lock:
            return next(waiting, None)

    def go_on(tree: Path) -> None:
        job = next_job()
        if job is None:
            return
        worker = Worker(tree)
        try:
            while job is not None:
                answer = worker.do(job)
                with lock:
                    done(job, answer)
                job = next_job()
        finally:
            worker.end()

    threads = [threading.Thread(target=go_on, args=(tree,)) for tree in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def files_to_map(folder: Path, tree: Path) -> list[str]:
    """Return the files of tests that are not in the map yet, those first whose tests start few programs."""
    files = {str(file.relative_to(tree)) for file in (tree / "tests").rglob("test_*.py")}
    for path in (folder / "map").glob("*.jsonl"):
        with path.open() as lines:
            files.difference_update(json.loads(next(lines))["files"])
    return sorted(files, key=lambda file: (file.startswith(DEAR_FOLDERS), file.count("/") < 2, file))


def map_lines(folder: Path, copies: Sequence[Path], without: str) -> None:
    """Find out which test runs which of the lines that concern a fault."""
    (folder / "map").mkdir(exist_ok=True)
    files = files_to_map(folder, copies[0])
    watched = watched_lines(folder, Tree(copies[0]))
    for copy in copies:
        recorder_plan(copy).write_text(json.dumps({"root": str(copy), "watched": watched}))
    first = 1 + max((int(path.stem) for path in (folder / "map").glob("[0-9]*.jsonl")), default=-1)
    jobs = [
        {
            "kind": "map",
            "files": files[at : at + FILES_PER_JOB],
            "out": str(folder / "map" / f"{first + number:03}.jsonl"),
            "without": without,
            "words": PROFILE,
            "cpu_limit": MAP_CPU_LIMIT_S,
        }
        for number, at in enumerate(range(0, len(files), FILES_PER_JOB))
    ]

    def done(job: dict[str, Any], answer: dict[str, Any]) -> None:
        with (folder / "map.log").open("a") as log:
            log.write(json.dumps({"files": job["files"], **answer}) + "\n")
        print(f"map {Path(job['out']).stem}: {json.dumps(answer)[:300]}", file=sys.stderr, flush=True)

    work(copies, jobs, done)


def watched_lines(folder: Path, tree: Tree) -> dict[str, dict[int, int]]:
    """Return, for each file, the lines that concern a drawn fault, each with its index in a row of the map."""
    lines: dict[str, set[int]] = defaultdict(set)
    for fault in read_faults(folder):
        for file, numbers in (concerned := concerned_lines(fault, tree)).first + concerned.later:
            lines[file].update(numbers)
    index = itertools.count()
    return {file: {line: next(index) for line in sorted(numbers)} for file, numbers in sorted(lines.items())}


class LineMap:
    """Tell which test runs which of the watched lines: a row of bits for each test."""

    def __init__(self, folder: Path, watched: dict[str, dict[int, int]]) -> None:
        self.watched = watched
        told = [json.loads(line) for file in sorted((folder / "map").glob("*.jsonl")) for line in file.open()]
        self.told = [one for one in told if one.get("outcome") == "passed"]
        self.names = [one["test"] for one in self.told]
        rows = [numpy.frombuffer(zlib.decompress(b64decode(one["seen"])), dtype=numpy.uint8) for one in self.told]
        self.seen = numpy.unpackbits(numpy.stack(rows), axis=1).astype(bool)
        self.cpu = numpy.array([one["cpu"] for one in self.told])
        self.counts = self.seen.sum(axis=1)

    def touching(self, concerned: Iterable[tuple[str, Iterable[int]]]) -> Any:
        """Return for each test whether it runs any of these lines of files."""
        return self.seen[:, [self.watched[file][line] for file, lines in concerned for line in lines]].any(axis=1)

    def cost(self, file: str) -> Any:
        """Return the processor seconds of each test, weighed by how little of what it runs is in this file."""
        inside = self.seen[:, list(self.watched.get(file, {}).values())].sum(axis=1)
        return (self.cpu + 0.01) * (self.counts + 1) / (inside + 1)


class Tree:
    """Read the product's source as far as the search of tests needs it."""

    def __init__(self, tree: Path) -> None:
        self._functions: dict[str, dict[int, tuple[str, bool]]] = {}
        self.texts = {
            str(file.relative_to(tree)): file.read_text()
            for package in PACKAGES
            for file in (tree / package).rglob("*.py")
        }

    def functions(self, file: str) -> dict[int, tuple[str, bool]]:
        """Return for each line in the body of a function its name, and whether it is compiled."""
        if file in self._functions:
            return self._functions[file]
        found = self._functions[file] = {}
        for node in ast.walk(ast.parse(self.texts[file])):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {one.id for some in node.decorator_list for one in ast.walk(some) if isinstance(one, ast.Name)}
                for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1):
                    before = found.get(line, ("", False))
                    found[line] = (node.name, before[1] or bool(names & COMPILED))
        return found

    def mentions(self, names: Iterable[str], file: str, anywhere: bool) -> dict[str, set[int]]:
        """Return the lines in functions that mention any of these names of a file, or a compiled function that does.

        Unless it is a name that is mentioned `anywhere`, as an attribute is, another file must also name the module.
        """
        wanted = [(name, file, anywhere) for name in names]
        seen = set(wanted)
        lines: dict[str, set[int]] = defaultdict(set)
        while wanted:
            name, home, anywhere = wanted.pop()
            path = Path(home).with_suffix("")
            module = path.parent.name if path.name == "__init__" else path.name
            word = re.compile(rf"\b{re.escape(name)}\b")
            for other, text in self.texts.items():
                if name not in text or not (anywhere or other == home or module in text):
                    continue
                for number, line in enumerate(text.splitlines(), 1):
                    if name in line and word.search(line) and number in (functions := self.functions(other)):
                        lines[other].add(number)
                        function, compiled = functions[number]
                        caller = (function, other, False)
                        if compiled and caller not in seen:
                            seen.add(caller)
                            wanted.append(caller)
        return lines


class Concerned(NamedTuple):
    """The lines, by file, whose tests concern a fault: those that are run first, and those that are run after them."""

    how: str
    first: list[tuple[str, Iterable[int]]]
    later: list[tuple[str, Iterable[int]]]


def concerned_lines(fault: Fault, tree: Tree) -> Concerned:
    """Return the lines that a test runs if it concerns a fault, and how they were found."""
    where = place(fault, tree.texts[fault.file])
    first: list[tuple[str, Iterable[int]]] = [] if where.at_import else [(fault.file, where.lines)]
    if not (where.at_import or where.compiled):
        return Concerned("line", first, [])
    first += tree.mentions(where.names, fault.file, where.in_class).items()
    later: list[tuple[str, Iterable[int]]] = [(fault.file, tree.functions(fault.file))] if where.at_import else []
    return Concerned("compiled" if where.compiled else "import", first, later)


def tests_of(fault: Fault, lines: LineMap, tree: Tree) -> tuple[list[int], str]:
    """Return the tests that concern a fault, the likeliest first, and how they were found."""
    concerned = concerned_lines(fault, tree)
    found = lines.touching(concerned.first)
    later = lines.touching(concerned.later) & ~found
    cost = lines.cost(fault.file)
    order = [sorted(numpy.flatnonzero(some), key=lambda at: cost[at]) for some in (found, later)]
    return [*order[0], *order[1]], concerned.how


def portions(
    tests: Sequence[int], lines: LineMap, limit: float, first: str | None
) -> list[list[tuple[str, float, float]]]:
    """Divide tests into portions, each larger than the one before, that together take as long as the limit."""
    found: list[list[tuple[str, float, float]]] = []
    if first is not None:
        at = lines.names.index(first)
        found.append([(first, lines.told[at]["cpu"], lines.told[at]["wall"])])
    size, total = FIRST_PORTION_S, 0.0
    portion: list[tuple[str, float, float]] = []
    cost, files = 0.0, set[str]()
    for at in tests:
        name, told = lines.names[at], lines.told[at]
        if name == first:
            continue
        file = name.partition("::")[0]
        added = told["cpu"] + (FILE_COST_S if file not in files else 0)
        if portion and cost + added > size:
            found.append(portion)
            portion, cost, files = [], 0.0, set()
            size *= 3
        files.add(file)
        portion.append((name, told["cpu"], told["wall"]))
        cost += added
        total += added
    return [*found, portion] if portion else found


def draw_faults(folder: Path, tree: Path, options: argparse.Namespace) -> None:
    """Draw the faults, or take over those of another run."""
    out = folder / "faults.jsonl"
    if out.exists():
        return
    if options.like is None:
        faults: list[Fault] = draw(tree, options.count, options.seed)
    else:
        faults = []
        for fault in read_faults(options.like):
            path = tree / fault.file
            moved = (
                carried(fault, (options.like / "tree-0" / fault.file).read_text(), path.read_text())
                if path.exists()
                else None
            )
            if moved is None:
                print(f"{fault.file}:{fault.line} is no more", file=sys.stderr)
            else:
                faults.append(moved)
    with (folder / "faults.part").open("w") as part:
        for fault in faults:
            part.write(json.dumps(fault._asdict()) + "\n")
    os.replace(folder / "faults.part", out)


def read_faults(folder: Path) -> list[Fault]:
    return [Fault(**json.loads(line)) for line in (folder / "faults.jsonl").open()]


def read_results(folder: Path, open_ones: bool = False) -> dict[int, dict[str, Any]]:
    path = folder / "results.jsonl"
    told = [json.loads(line) for line in path.open()] if path.exists() else []
    return {one["number"]: one for one in told if one["state"] != "error" and (open_ones or one["state"] != "open")}


def remove_fault(tree: Path) -> None:
    """Remove the fault that a killed worker left in a copy."""
    undo = tree.with_name(f"{tree.name}.undo")
    if undo.exists():
        name, text, moment = json.loads(undo.read_text())
        (tree / name).write_text(text)
        os.utime(tree / name, ns=(moment, moment))
        undo.unlink()


def try_faults(folder: Path, copies: Sequence[Path], options: argparse.Namespace) -> None:
    """Run the tests that concern each fault."""
    for copy in copies:
        remove_fault(copy)
    tree = Tree(copies[0])
    lines = LineMap(folder, watched_lines(folder, tree))
    complete = not files_to_map(folder, copies[0])
    known, tried = read_results(folder), read_results(folder, open_ones=True)
    former = read_results(options.like) if options.like else {}
    names = set(lines.names)
    results = (folder / "results.jsonl").open("a")

    def keep(fault: Fault, **what: Any) -> None:
        if what["state"] in ("survived", "untouched") and not complete:
            what["state"] = "open"  # a test that is not in the map yet may find it
        results.write(json.dumps({"number": fault.number, "file": fault.file, "line": fault.line, **what}) + "\n")
        results.flush()

    def jobs() -> Iterator[dict[str, Any]]:
        for fault in read_faults(folder)[: options.count]:
            if fault.number in known:
                continue
            tests, how = tests_of(fault, lines, tree)
            if not complete and (not tests or fault.number in tried):
                continue
            if not tests:
                keep(fault, state="untouched", how=how)
                continue
            first = former.get(fault.number, {}).get("test")
            first = first if first in names else None
            limit = options.cpu_limit if complete else options.cpu_limit / 6
            yield {
                "kind": "fault",
                "number": fault.number,
                "fault": fault._asdict(),
                "how": how,
                "tests": len(tests),
                "file": fault.file,
                "text": put_in(fault, tree.texts[fault.file]),
                "portions": portions(tests, lines, limit, first),
                "words": PROFILE,
                "cpu_limit": limit,
            }

    def done(job: dict[str, Any], answer: dict[str, Any]) -> None:
        fault = Fault(**job["fault"])
        keep(fault, how=job["how"], tests=job["tests"], **answer)
        print(f"{fault.number} {fault.file}:{fault.line} {json.dumps(answer)[:200]}", file=sys.stderr, flush=True)

    work(copies, jobs(), done)
    results.close()


def report(folder: Path, like: Path | None) -> None:
    """Print the faults that no test found, first those found in the other version, and a line for each package."""
    faults, results = read_faults(folder), read_results(folder)
    former = read_results(like) if like else {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for fault in sorted(faults, key=lambda fault: former.get(fault.number, {}).get("state") != "found"):
        result, before = results.get(fault.number, {}), former.get(fault.number, {})
        state = result.get("state", "not tried")
        counts[fault.file.partition("/")[0]][state] += 1
        counts["all"][state] += 1
        if state in ("survived", "untouched"):
            left = f", {result['left']} tests left out" if result.get("left") else ""
            print(f"{fault.file}:{fault.line} {state} (fault {fault.number}, {fault.operator}{left})")
            if before.get("state") == "found":
                print(f"it was found by {before.get('test') or before['by']}: {before.get('says', before['by'])}")
            print("".join(f"-{line}" for line in fault.before) + "".join(f"+{line}" for line in fault.after), end="")
    for package, states in counts.items():
        print(f"{package}: " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    print(f"processor time: {sum(result.get('cpu', 0) for result in results.values()):.0f} s")


if __name__ == "__main__":
    main()
