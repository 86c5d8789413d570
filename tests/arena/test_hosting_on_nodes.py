"""An arena of several nodes hosts no bots, and says so before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.commands import plans, serve_nodes
from arena.commands.serve_runners import check_hosting
from arena.commands.settings import ServerSettings
from protocol.errors import UsageFault

SHARED = "postgresql://arena@127.0.0.1:1/arena"


@pytest.mark.parametrize("settings", [{"hosting": True}, {"runners": 1}, {"hosting": True, "web": False}])
def test_a_node_that_shares_a_database_refuses_to_host_bots(settings: dict[str, bool]) -> None:
    check_hosting(ServerSettings(db=SHARED))
    with pytest.raises(UsageFault, match=r"^hosting: nodes that share a database server can't host bots yet"):
        check_hosting(ServerSettings(db=SHARED, **settings))  # type: ignore[arg-type]


def test_nodes_of_one_machine_refuse_it_once_and_not_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("configure_logging", "reserve_port"):
        monkeypatch.setattr(serve_nodes, name, lambda *_: ())
    with pytest.raises(UsageFault, match=r"^hosting: nodes that share a database server can't host bots yet"):
        serve_nodes.run_nodes(ServerSettings(db=SHARED, nodes=2, hosting=True))


def test_it_is_said_that_nothing_plays_what_is_planned_for_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans._say_who_plays(SHARED, tmp_path)
    assert capsys.readouterr().out == "nothing plays it yet: nodes that share a database server host no bots\n"


def test_what_is_planned_is_no_failure_if_the_server_can_not_be_asked_who_plays_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "operator.json").write_text("{")
    plans._say_who_plays(str(tmp_path / "arena.db"), tmp_path)
    assert capsys.readouterr().out == ""
