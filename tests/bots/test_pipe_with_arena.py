"""`arena-bot pipe` as its users start it: in tournaments, on a server, stopped, killed, with a program that fails."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path

import pytest

from commands import Done, call, ends, run, started
from players import player
from process_tree import descendants
from processes import run_command
from timeouts import WITHIN, found_in

ANSWER = """case $line in *legal*) moves=${line#*'"legal":['}; echo "${moves%%\\}*}}";; esac"""
PIPE = f"{sys.executable} -m bots pipe --"


def script(folder: Path, name: str, text: str) -> Path:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


@pytest.mark.nightly
def test_programs_that_fail_lose_and_leave_no_match_hanging(tmp_path: Path) -> None:
    programs = {
        "rubbish": "echo hello; while read -r line; do echo hello; done",
        "dead": "exit 1",
        "dies": "read -r start; read -r turn; exit 1",
        "silent": "cat >/dev/null",
        "deaf": "exec tail -f /dev/null",
        "half": "read -r start; read -r turn; printf '{'; cat >/dev/null",
        "endless": "exec yes",
        "illegal": """while read -r line; do case $line in *legal*) echo '{"heap":0,"take":99}';; esac; done""",
    }
    bots = [f"{name}={PIPE} {script(tmp_path, name, text)}" for name, text in programs.items()]
    words = ["random", *bots, "--format", "gauntlet", "--game", "nim", "--clock", "10+0"]
    done = run("arena", "tournament", *words, "--data", f"{tmp_path}/data")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nim gauntlet, 8 matches (failed 4, timeout 3, illegal 1)"), done.stdout
    assert re.search(r"^1 +[\d-]+ +random +8 +8 ", done.stdout, re.MULTILINE)
    for name in programs.keys() - {"illegal"}:
        (log,) = tmp_path.glob(f"data/tournaments/*/{name}.log")
        assert re.search(rf"^{name}: .*\bat ply \d+ of ", log.read_text(), re.MULTILINE), log.read_text()


def test_a_program_that_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    words = script(tmp_path, "words", "")
    words.write_text("just words")
    script(tmp_path, "strange", "").write_text("#!/no/such/shell\n")
    closed = script(tmp_path, "closed", "")
    closed.chmod(0o644)
    assert_refused(
        refused("nosuch"), "there is no program 'nosuch': give its path, as in ./mybot, or a name that is on PATH"
    )
    script(Path(), "mybot", "")
    assert_refused(refused("mybot"), "'mybot' is not on PATH: write ./mybot")
    assert_refused(refused("."), "'.' is a folder: give the path of a program in it")
    assert_refused(refused(str(closed)), f"'{closed}' can't be executed: chmod +x {closed}")
    assert_refused(
        refused(f"{words}"), f"'{words}' is not a program: begin a script with #!/bin/sh, or put its interpreter"
    )
    assert_refused(
        refused(f"{tmp_path}/strange"), f"'{tmp_path}/strange' names an interpreter in its first line, after #!"
    )


def test_without_a_program_it_says_where_one_goes() -> None:
    says = "there is no program to run: give it at the end, as in arena-bot pipe --game nim -- ./mybot"
    assert_refused(call("arena-bot", "pipe", "--game", "nim"), says)
    assert_refused(call("arena-bot", "pipe", "--game", "nim", "--"), says)
    assert_refused(call("arena-bot", "pipe", "--game", "nim", "--", ""), says)


def refused(program: str) -> Done:
    return call("arena-bot", "pipe", "--game", "nim", "--", program, "--option")


def assert_refused(done: Done, says: str) -> None:
    assert done.err.startswith(f"arena-bot: {says}")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_words_after_the_dashes_are_the_programs(tmp_path: Path) -> None:
    said = tmp_path / "said"
    wordy = script(tmp_path, "wordy", f'echo "$@" >{said}; cat >/dev/null')
    words = [
        "--game",
        "nim",
        "--patience",
        "0",
        "--url",
        "ws://127.0.0.1:9",
        "--",
        str(wordy),
        "--game",
        "chess",
        "--",
        "-h",
    ]
    done = run("arena-bot", "pipe", *words, XDG_CONFIG_HOME=str(tmp_path))
    assert (done.returncode, said.read_text()) == (1, "--game chess -- -h\n")
    assert done.stderr.startswith("wordy: no arena answers at ws://127.0.0.1:9"), "the name is the program's"


async def test_several_matches_at_once_have_a_process_each(port: int, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    heard.mkdir()
    mine = script(tmp_path, "mine", f'while read -r line; do echo "$line" >>{heard}/$$; {ANSWER}; done')
    url = f"ws://127.0.0.1:{port}"
    words = [sys.executable, "-m", "bots", "pipe", "--url", url, "--game", "nim", "--slots", "2", "--matches", "2"]
    async with player(url, "one") as one, player(url, "other") as other, asyncio.TaskGroup() as group:
        program = group.create_task(run_command(*words, "--", str(mine), folder=tmp_path))
        for opponent in (one, other):
            await opponent.seek()
            await opponent.begin()
        await asyncio.gather(one.play(), other.play())
        assert (await program).code == 0
    told = [file.read_text().splitlines() for file in heard.iterdir()]
    assert len(told) == 2
    for lines in told:
        assert (sum('"type":"start"' in line for line in lines), '"type":"end"' in lines[-1]) == (1, True)


async def test_a_bot_that_is_told_to_finish_plays_its_match_to_the_end_and_seeks_no_other(
    port: int, tmp_path: Path
) -> None:
    mine = script(tmp_path, "mine", f"while read -r line; do {ANSWER}; done")
    url = f"ws://127.0.0.1:{port}"
    words = ["pipe", "--finish-on-sigterm", "--fresh", "--url", url, "--game", "nim", "--", str(mine)]
    async with player(url, "one") as one:
        with started("arena-bot", *words, XDG_CONFIG_HOME=str(tmp_path)) as process:
            await one.seek()
            await one.begin()
            process.send_signal(signal.SIGTERM)
            end = await one.play()
            assert await asyncio.to_thread(process.wait, WITHIN) == 0
    assert {seat["reason"] for seat in end["seats"]} <= {"win", "loss"}, end


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_it_ends_the_program_and_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    began = tmp_path / "began"
    began.mkdir()
    deaf = script(tmp_path, "deaf", f"trap '' TERM INT HUP; tail -f /dev/null >/dev/null & echo >{began}/it; wait")
    words = ["--game", "nim", "--url", "ws://127.0.0.1:9", "--", str(deaf)]
    with started("arena-bot", "pipe", *words, XDG_CONFIG_HOME=str(tmp_path)) as process:
        assert process.stderr is not None
        process.stderr.readline()
        found_in(began, lambda: list(began.iterdir()) or None)
        family = descendants(process.pid)
        process.send_signal(number)
        process.communicate(timeout=WITHIN)
    assert len(family) == 3, "a keeper, a shell, and what the shell has started"
    assert all(ends(pid) for pid in family)
