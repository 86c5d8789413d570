"""Games whose luck is measured: pairs of games between two sets of evaluation weights (the same deal from both seats,
with separate dice), and campaigns of bots on any number of seats. Also writes coefficients that were fitted to games.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tomli_w

from bots.search.base import SearchLimit
from bots.search.kernels import settings_class_of
from bots.tuning.genetic import Gene
from bots.tuning.selfplay import Setup, TuningGame, play, rules_and_kernel
from games.risk.rules.campaign import Campaign
from games.risk.search.campaign_uct import CampaignUct
from protocol import VERSION
from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.base import Game

ROOT = Path(__file__).parents[2]
"""The folder of the repository."""
DIGITS = 5
"""Decimal places of fitted coefficients."""
Plies = Sequence[tuple[Any, Any, Any]]
"""The type of the plies of a game: each is the state before a move, the move, and the state after it."""


class GamePair(NamedTuple):
    """Two games from one start position between the sets of weights `first` and `second`. In the second game, their
    seats are swapped.

    The search is limited either to `depth` plies or to `nodes` nodes; the unused limit is None.
    """

    game: str
    config: dict[str, Any]
    first: Gene
    second: Gene
    start: str
    depth: int | None = None
    nodes: int | None = None


class PlayedGame(NamedTuple):
    """A played game: its rules, the score of seat 0, and its plies."""

    rules: Game[Any, Any]
    score: float
    plies: Plies


def play_pair(pair: GamePair) -> Iterator[PlayedGame]:
    setup = Setup(pair.game, settings_class_of(pair.game)(), json.dumps(pair.config), pair.depth, pair.nodes)
    rules = rules_and_kernel(setup)[0]
    for order, weights in enumerate([(pair.first, pair.second), (pair.second, pair.first)]):
        played = play(setup, TuningGame(*weights, pair.start, dice=f"{pair.start}/{order}"))
        yield PlayedGame(rules, played.score, list(zip(played.states, played.moves, played.states[1:], strict=False)))


def load_campaign(preset: str) -> Campaign:
    rules = load_game("risk-campaign", {"preset": preset})
    assert isinstance(rules, Campaign)
    return rules


def play_campaign(rules: Campaign, sims: Sequence[int], start: str, number: str) -> Iterator[tuple[Any, Any, Any]]:
    """Play a campaign, and yield its plies. `sims` has the number of simulations of the bot `uct` on each seat; 0 means
    the bot `raider`, and -1 a random bot.
    """
    state = rules.initial(Dice(start.encode(), 0))[0]
    dice, chance = f"{start}/{number}".encode(), Random(f"{start}/{number}")
    searches = [CampaignUct(rules) for _ in sims]
    while (seat := rules.to_move(state)) is not None:
        if sims[seat] < 0:
            move = rules.sample_move(state, chance.randrange)
        else:
            found = searches[seat].search(state, below=chance.randrange, limit=SearchLimit(nodes=sims[seat])).move
            assert found is not None
            move = found
        after = rules.apply(state, move, Dice(dice, rules.ply(state)))[0]
        yield state, move, after
        state = after


def write_coefficients(game: str, name: str, content: dict[str, Any], seed: str, games: int) -> None:
    """Write the coefficients that this program has fitted to games into the file `name` of the room's coefficients."""
    command = shlex.join(["python", str(Path(sys.argv[0]).resolve().relative_to(ROOT)), *sys.argv[1:]])
    provenance = {"seed": seed, "games": games, "bot_arena": VERSION}
    held = {"name": "fitted-1", **content, "provenance": provenance}
    file = ROOT / "games" / "risk" / "measuring" / "coefficients" / game / f"{name}.toml"
    file.write_text(f"# {command}\n{tomli_w.dumps(held)}", encoding="utf-8")
