"""The bots of a command line: names, settings and commands; and their processes."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from arena.commands.tournament_options import BOT_SETTINGS
from arena.processes.bot_commands import make_startable
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotCrashed, BotProcess
from arena.runs.contestants import Contestant, parse_contestants
from bot_checks import check_settings_here
from protocol.bot_launch import REFERENCE_BOTS, BotSpec
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN

RUN = (sys.executable, "-P", "-m", "bots", "run")


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    check_settings_here(monkeypatch)


def test_a_reference_bot_goes_by_its_own_name_or_another() -> None:
    plain, renamed = parse_contestants(["random", "calm=alphabeta"], {})
    spec = BotSpec(name="random", bot="random", seed="")
    assert plain == Contestant("random", (*RUN, "random", "--name", "random"), reference=True, spec=spec)
    spec = BotSpec(name="calm", bot="alphabeta", seed="")
    assert renamed == Contestant("calm", (*RUN, "alphabeta", "--name", "calm"), reference=True, spec=spec)


@pytest.mark.usefixtures("checked_here")
def test_settings_are_a_bots_own_and_defaults_are_for_those_that_know_them() -> None:
    deep, plain = parse_contestants(["deep=alphabeta:depth=6,eval=lines", "greedy"], {"nodes": "200"})
    assert deep.command[7:] == ("deep", "--set", "depth=6", "--set", "eval=lines", "--default", "nodes=200")
    assert plain.command[7:] == ("greedy", "--default", "nodes=200")


@pytest.mark.usefixtures("checked_here")
def test_settings_need_no_name_where_no_other_bot_has_it() -> None:
    deep, _ = parse_contestants(["alphabeta:depth=6", "x=alphabeta:depth=2"], {})
    assert (deep.name, deep.command[-2:]) == ("alphabeta", ("--set", "depth=6"))
    with pytest.raises(UsageFault, match="two bots are called 'alphabeta': give one another name"):
        parse_contestants(["alphabeta:depth=6", "alphabeta:depth=2"], {})


def test_a_tournament_sets_whatever_the_reference_bots_let_one_set() -> None:
    bots = [point.load() for point in entry_points(group=REFERENCE_BOTS)]
    assert set(BOT_SETTINGS) == {key for bot in bots for key in bot.settings}


def test_a_list_among_the_settings_of_a_bot_keeps_its_commas() -> None:
    bold, _ = parse_contestants(["bold=alphabeta:weights=1,2.5,.5,0,depth=3", "random"], {})
    assert bold.command[8:] == ("--set", "weights=1,2.5,.5,0", "--set", "depth=3")
    with pytest.raises(
        UsageFault, match=r"bold: 'deep' is not a setting: write KEY=VALUE, as in bold=alphabeta:KEY=VALUE"
    ):
        parse_contestants(["bold=alphabeta:depth=3,deep", "random"], {})


def test_a_command_line_is_split_as_a_shell_does() -> None:
    mine, _ = parse_contestants([f"mine={sys.executable} 'my bot.py' --fast", "random"], {})
    assert mine == Contestant("mine", (sys.executable, "my bot.py", "--fast"))


@pytest.mark.usefixtures("checked_here")
@pytest.mark.parametrize(
    ("word", "file"),
    [
        ("mine=bot.py", "bot.py"),
        ("mine=bot.py:Mine", "bot.py:Mine"),
        ("mine.py:Mine", "mine.py:Mine"),
        ("mine=python3 bot.py", "bot.py"),
    ],
)
def test_in_process_a_bot_is_a_python_file_a_class_of_one_or_what_python_runs(word: str, file: str) -> None:
    mine, deep = parse_contestants([word, "deep=alphabeta:depth=6"], {"nodes": "200"}, in_process=True)
    assert mine.spec == BotSpec(name="mine", bot=f"{Path.cwd()}/{file}", seed="")
    assert deep.spec == BotSpec(
        name="deep", bot="alphabeta", seed="", settings={"depth": "6"}, defaults={"nodes": "200"}
    )


@pytest.mark.parametrize("command", ["./bot", "python bot.py --fast", "python -m bot", "node bot.js"])
def test_what_is_no_python_file_can_not_play_in_process(command: str) -> None:
    says = rf"^mine: '{command}' can't play in process, .*: write mine=FILE.py or mine=FILE.py:CLASS; any .*-process$"
    with pytest.raises(UsageFault, match=says):
        parse_contestants([f"mine={command}", "random"], {}, in_process=True)


@pytest.mark.parametrize(("word", "name"), [("my.py", "my"), ("mine=my.py", "mine"), ("mine=./my.py --fast", "mine")])
def test_a_python_file_by_itself_is_run_by_this_python(
    word: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageFault, match=r"^there is no file '(./)?my.py'$"):
        parse_contestants([word, "random"], {})
    (tmp_path / "my.py").touch()
    mine, _ = parse_contestants([word, "random"], {})
    assert mine == Contestant(name, (sys.executable, *word.rpartition("=")[2].split()))


def test_a_file_that_can_not_be_run_says_how_it_could(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.sh").touch()
    with pytest.raises(UsageFault, match=r"^'bot.sh' can't be run: write ./bot.sh, after chmod \+x bot.sh$"):
        make_startable(["bot.sh"])


def test_a_colon_in_a_command_line_is_the_commands_own() -> None:
    mine, _ = parse_contestants([f"mine={sys.executable} bot.py ws://host:1", "random"], {})
    assert mine.command[1:] == ("bot.py", "ws://host:1")


@pytest.mark.parametrize("word", ["-x=random", "a/b=random", "=random", "x" * 33 + "=random"])
def test_a_name_that_no_arena_registers_is_refused(word: str) -> None:
    with pytest.raises(UsageFault, match="is no bot name"):
        parse_contestants([word, "random"], {})


def test_names_that_differ_in_case_only_are_the_same() -> None:
    with pytest.raises(UsageFault, match="two bots are called 'a': give one another name"):
        parse_contestants(["a=random", "A=greedy"], {})


class Started:
    """A process of a one-line program, or of another command, and what was said of its crashes."""

    def __init__(self, folder: Path, program: str = "", command: tuple[str, ...] = ()) -> None:
        self.crashes: asyncio.Queue[str] = asyncio.Queue()
        self.log = folder / "logs" / "mine.log"
        command = command or (sys.executable, "-c", program)
        order = LaunchSpec(command=command, environment={"WORD": "hello"}, token="t" * 64)
        self.bot = BotProcess("mine", order, self.log, lambda bot, crash: self.crashes.put_nowait(str(crash)))

    async def crash(self) -> str:
        return await asyncio.wait_for(self.crashes.get(), WITHIN)


async def test_a_program_that_ends_is_a_crash_told_with_its_last_lines(tmp_path: Path) -> None:
    started = Started(tmp_path, "import os\nfor n in range(20): print(n, os.environ['WORD'])\nraise SystemExit(3)")
    await started.bot.start()
    head, *lines = (await started.crash()).splitlines()
    assert head == f"mine ended with exit code 3; last output, in {started.log}:"
    assert lines == [f"  {n} hello" for n in range(12, 20)]
    assert started.bot.crashes == 1


async def test_a_file_that_hides_the_library_is_named_below_the_last_words(tmp_path: Path) -> None:
    for name in ("mine.py", "bots.py"):
        (tmp_path / name).write_text("from bots import Bot, run")
    started = Started(tmp_path, command=(sys.executable, str(tmp_path / "mine.py")))
    await started.bot.start()
    assert (await started.crash()).endswith(
        f"\n  {tmp_path}/bots.py has the name of the library, and hides it: rename the file"
    )


async def test_the_last_words_are_those_of_the_last_run(tmp_path: Path) -> None:
    started = Started(tmp_path, "import os; print('run', os.getpid(), flush=True); os.abort()")
    words = []
    for _ in range(2):
        await started.bot.start()
        head, *lines = (await started.crash()).splitlines()
        assert head.startswith("mine was killed by signal 6; ")
        words += lines
    assert len(set(words)) == len(words) == 2
    assert [f"  {line}" for line in started.log.read_text().splitlines()] == words
    assert started.bot.crashes == 2


async def test_a_match_played_has_the_crashes_counted_anew(tmp_path: Path) -> None:
    started = Started(tmp_path, "pass")
    for _ in range(2):
        await started.bot.start()
        await started.crash()
        started.bot.reset_crashes()
    await started.bot.start()
    await started.crash()
    assert started.bot.crashes == 1


async def test_a_silent_crash_says_so(tmp_path: Path) -> None:
    started = Started(tmp_path, "pass")
    await started.bot.start()
    assert (await started.crash()).endswith(":\n  (nothing)")


async def test_a_run_that_is_ended_is_a_crash_with_the_reason_given(tmp_path: Path) -> None:
    started = Started(tmp_path, "import signal; signal.pause()")
    await started.bot.start()
    started.bot.kill_as_crash("was in the way")
    assert (await started.crash()).startswith("mine was in the way; last output, in ")


async def test_a_bot_that_is_stopped_is_no_crash_and_does_not_start_again(tmp_path: Path) -> None:
    started = Started(tmp_path, "import signal; signal.pause()")
    await started.bot.start()
    await started.bot.stop(0)
    await started.bot.start()
    assert started.crashes.empty()
    assert started.bot.crashes == 0


async def test_a_bot_that_ignores_everything_is_killed_with_what_it_started(tmp_path: Path) -> None:
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    os.mkfifo(tmp_path / "deaf")
    child = f"{ignore}; open({str(tmp_path / 'deaf')!r}, 'w').close(); signal.pause()"
    program = f"{ignore}; import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    started = Started(tmp_path, program)
    await started.bot.start()
    async with asyncio.timeout(WITHIN):
        await asyncio.to_thread((tmp_path / "deaf").read_bytes)
        await started.bot.stop(0.2)
    assert started.crashes.empty()


async def test_a_program_that_is_gone_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BotCrashed) as caught:
        await Started(tmp_path, command=(str(tmp_path / "gone"), "-v")).bot.start()
    assert str(caught.value) == f"mine can't be started: No such file or directory: {tmp_path}/gone -v"


async def test_a_log_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("my diary\n")
    started = Started(tmp_path, "pass")
    with pytest.raises(ArenaFault) as caught:
        await started.bot.start()
    assert str(caught.value) == f"the log {started.log} can't be written: File exists"
