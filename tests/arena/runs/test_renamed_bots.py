"""A tournament that stopped does not go on under the old name of a bot that was renamed or deleted since."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.commands.tournament import TournamentRun
from arena.store.registry import anonymize_bot, rename_bot
from arena.store.store import Store
from arena.store.tournament_state import open_tournament
from machine.console import Console
from plans import plan
from protocol.errors import UsageFault
from seasons import finish, result


class Players:
    """Players that only note how often they were asked."""

    asked = 0

    def play_run(self, ledger: object) -> None:
        self.asked += 1


@pytest.fixture
def run(tmp_path: Path) -> Iterator[TournamentRun]:
    """A tournament of ann and bob, of whose two matches one is played."""
    with closing(Store.open(tmp_path / "arena.db")) as store:
        tournament, seed = store.write(open_tournament, "{}", "7")
        planned = plan(["ann", "bob"], id=tournament, seed=seed, rounds=2)
        first = planned.schedule(())[0]
        finish(store, result("m", first.seats, tournament=tournament, place=first.place))
        players: Any = Players()
        yield TournamentRun(planned, players, store, Console(stderr=True))


def test_it_says_how_the_bot_is_called_now(run: TournamentRun) -> None:
    run.store.write(rename_bot, "ann", "anna")
    with pytest.raises(UsageFault, match=r"^ann .* is called anna now: `arena bot rename anna ann` lets it go on; "):
        run.play(run.progress(), int)
    run.store.write(rename_bot, "anna", "ANN")
    run.play(run.progress(), int)
    assert run.players.asked == 1  # type: ignore[union-attr]


def test_the_name_of_a_deleted_bot_is_not_brought_back(run: TournamentRun) -> None:
    run.store.write(anonymize_bot, "bob")
    with pytest.raises(UsageFault, match=r"^bob .* was deleted since: another --seed or --data plays a new one$"):
        run.play(run.progress(), int)
