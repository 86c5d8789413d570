"""The `arena-bot` command as a process: what it finds, what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from bots.client.loading import choose_settings
from commands import REPOSITORY, call
from protocol.bot_launch import REFERENCE_BOTS
from protocol.errors import UsageFault


def test_help_names_the_commands() -> None:
    code, out, _ = call("arena-bot", "--help")
    assert code == 0
    assert all(command in out for command in ("run", "pipe", "tune", "trial", "analyze", "compare"))


def test_help_names_the_bots_that_come_with_the_package() -> None:
    code, out, _ = call("arena-bot", "run", "--help")
    assert code == 0
    ours = [bot.name for bot in entry_points(group=REFERENCE_BOTS) if bot.value.startswith(("bots.", "games."))]
    assert "oracle" in ours
    out = re.sub(r"-\s+", "-", out)  # a name may go on in the next line
    assert [name for name in ours if f" {name}," not in out] == []


def test_a_bot_that_is_run_outside_of_the_environment_is_told_to_activate_it() -> None:
    words = [sys.executable, "-S", "-c", "from bots import Bot"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("this Python lacks what bots need: activate the environment ")


def test_help_loads_neither_sockets_nor_search() -> None:
    program = (
        "import sys\nfrom bots.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'websockets', 'bots.search', 'bots.client.run', 'uvloop', 'mpmath', 'rich.console'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr


def test_defining_a_bot_loads_no_sockets() -> None:
    program = "import sys; from bots import Bot, Choice, Turn; sys.exit('websockets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY).returncode == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "nobody"], "arena-bot: there is no bot 'nobody': one of "),
        (
            ["run", "human", "--set", "depth=3"],
            "arena-bot: human has no setting 'depth': it has none",
        ),
        (["run", "human", "--set", "depth"], "arena-bot: --set 'depth': it must be key=value"),
        (
            ["run", "greedy", "--game", "nmi"],
            "arena-bot: greedy needs the arena's rules of nmi, which this machine does not",
        ),
        (["run", "human", "--game", "nim", "--preset", "x"], "arena-bot: nim has no preset 'x': one of classic"),
        (["run", "perfect", "--game", "risk-duel"], "arena-bot: perfect does not play risk-duel: it plays nim, grundy"),
        (
            ["run", "ga", "--game", "risk-campaign", "--set", "weights=paper"],
            "arena-bot: ga: weights is 'paper', but it",
        ),
        (
            ["solve", "africa"],
            "arena-bot: there is no game 'africa': give risk-duel, kuhn or leduc; for a map, add --config",
        ),
        (
            ["solve", "atlantis"],
            "arena-bot: there is no game 'atlantis': give risk-duel, kuhn or leduc; for a map, add",
        ),
        (["run", "human", "--url", "http://x"], "arena-bot: the arena's URL is 'http://x': write it like ws://"),
        (["run", "human", "--name", "a b"], "arena-bot: the bot's name is 'a b': 1 to 32"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(args: list[str], says: str) -> None:
    code, out, err = call("arena-bot", *args)
    assert (code, out) == (2, "")
    assert err.startswith(says)
    assert err.count("\n") == 1


def test_an_arena_that_never_answers_is_exit_code_1(tmp_path: Path) -> None:
    words = ("arena-bot", "run", "human", "--url", "ws://127.0.0.1:9", "--patience", "0.1")
    code, _, err = call(*words, XDG_CONFIG_HOME=str(tmp_path))
    assert code == 1
    assert err.splitlines()[-1].startswith("human: no arena answers at ws://127.0.0.1:9: connection refused")


def test_settings_go_before_defaults_and_unknown_defaults_are_left_out() -> None:
    known = {"depth": "plies to look ahead", "nodes": "nodes to visit"}
    assert choose_settings("minimax", known, {"depth": "3"}, {"depth": "2", "nodes": "9", "other": "1"}) == {
        "depth": "3",
        "nodes": "9",
    }


def test_an_unknown_setting_names_those_there_are() -> None:
    with pytest.raises(UsageFault, match="minimax has no setting 'deep': it has depth"):
        choose_settings("minimax", {"depth": "plies"}, {"deep": "3"}, {})
