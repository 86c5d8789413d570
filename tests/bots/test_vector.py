"""Many games at once for learners: Gymnasium's interface, the same games whatever goes on beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from bots.environments import VectorGames, VectorSingle
from bots.environments.batched.batch import Masks, Vectors
from bots.environments.vector_single import choose_uniformly
from protocol.errors import IllegalMove, UsageFault

GAMES: list[tuple[str, dict[str, object]]] = [
    ("nim", {"heaps": [3, 4]}),
    ("tictactoe", {}),
    ("risk-duel", {}),
    ("risk-campaign", {"map": "south-america", "players": 4, "max_rounds": 5}),
]
BOTH = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


def anything(value: object) -> Any:
    """What the types would not let pass."""
    return value


def first(vectors: Vectors, masks: Masks, random: np.random.Generator) -> np.ndarray:
    return masks.argmax(1)


def last(masks: Masks) -> np.ndarray:
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize(("game", "config"), GAMES)
def test_learners_get_what_their_seats_are_worth_and_sit_in_every_one(
    game: str, config: dict[str, object], mode: AutoresetMode
) -> None:
    world = VectorSingle(game, config, num_envs=16, autoreset_mode=mode)
    assert world.metadata["autoreset_mode"] is mode
    random = np.random.default_rng(1)
    vectors, infos = world.reset(seed=3)
    sat, ends = {*world.seats.tolist()}, 0
    totals, fresh = np.zeros(16), np.zeros(16, bool)
    for _ in range(120):
        assert vectors in world.observation_space
        assert (infos["action_mask"] == world.action_masks()).all()
        seats = world.seats.copy()
        actions = choose_uniformly(vectors, infos["action_mask"], random)
        vectors, rewards, over, truncated, infos = world.step(actions)
        assert not truncated.any()
        assert not rewards[fresh].any(), "the action before had no meaning"
        totals += rewards
        final = infos["final_obs"] if mode is AutoresetMode.SAME_STEP and over.any() else vectors
        for at in np.flatnonzero(over):
            assert final[at] in world.single_observation_space
            position = world.games.batch.position(at)
            if mode is AutoresetMode.NEXT_STEP and world.games.rules.to_move(position) is None:
                ranks = world.games.rules.ranks(position)
                better, worse = (
                    sum(rank < ranks[seats[at]] for rank in ranks),
                    sum(rank > ranks[seats[at]] for rank in ranks),
                )
                assert totals[at] == pytest.approx((worse - better) / (len(ranks) - 1))
            assert abs(totals[at]) <= 1
            ends += 1
        totals[over] = 0
        fresh = over if mode is AutoresetMode.NEXT_STEP else np.zeros(16, bool)
        assert (infos["action_mask"].any(1) == ~fresh).all(), "where a game is over nothing is legal"
        sat |= {*world.seats.tolist()}
    assert ends > 16
    assert sat == {*range(world.games.rules.seats)}


@pytest.mark.parametrize("mode", BOTH)
def test_gymnasiums_wrappers_take_it_for_one_of_theirs(mode: AutoresetMode) -> None:
    world: Any = RecordEpisodeStatistics(VectorSingle("tictactoe", num_envs=4, opponent=first, autoreset_mode=mode))
    _, infos = world.reset(seed=1)
    lengths = []
    for _ in range(40):
        _, _, over, _, infos = world.step(last(infos["action_mask"]))
        lengths += infos["episode"]["l"][over].tolist() if over.any() else []
    assert lengths
    assert set(lengths) <= {2, 3, 4, 5}, "own marks on nine cells"


@pytest.mark.parametrize(("game", "config"), GAMES)
def test_a_game_depends_on_its_seed_and_not_on_those_beside_it(game: str, config: dict[str, object]) -> None:
    def played(seed: int | list[int], count: int) -> list[Any]:
        world = VectorSingle(game, config, num_envs=count, opponent=first)
        _, infos = world.reset(seed=seed)
        seen = []
        for _ in range(30):
            vectors, rewards, over, _, infos = world.step(last(infos["action_mask"]))
            seen.append((vectors, rewards, over))
        return seen

    for alone, second, listed in zip(played(8, 1), played(7, 2), played([8, 1, 1], 3), strict=True):
        for one, pair, three in zip(alone, second, listed, strict=True):
            assert (one[0] == pair[1]).all()
            assert (one[0] == three[0]).all()


def test_opponents_do_not_draw_what_a_learner_of_the_same_seed_draws() -> None:
    seen = []

    def opponent(vectors: Vectors, masks: Masks, random: np.random.Generator) -> np.ndarray:
        seen.append((vectors, masks, choose_uniformly(vectors, masks, random)))
        return np.asarray(seen[-1][2])

    VectorSingle("tictactoe", num_envs=64, opponent=opponent).reset(seed=7)
    vectors, masks, actions = seen[0]
    assert (choose_uniformly(vectors, masks, np.random.default_rng(7)) != actions).any()


def test_resets_without_a_seed_go_on_from_the_last_one_and_the_first_is_drawn() -> None:
    def boards(seed: int | None) -> list[Any]:
        world = VectorSingle("risk-campaign", num_envs=2, render_mode="ansi")
        boards: list[Any] = []
        for each in (seed, None):
            world.reset(seed=each)
            boards += world.render() or ()
        return boards

    assert boards(5) == boards(5)
    assert len({*boards(5), *boards(9), *boards(None)}) == 12


def test_what_is_returned_is_the_callers_to_keep() -> None:
    world = VectorSingle("tictactoe", num_envs=2, opponent=first, autoreset_mode=AutoresetMode.SAME_STEP)
    kept = [world.reset(seed=1)]
    copies = [np.array(kept[0][0])]
    for _ in range(8):
        kept.append(world.step(last(kept[-1][-1]["action_mask"])))
        copies.append(np.array(kept[-1][0]))
    assert all((step[0] == copy).all() for step, copy in zip(kept, copies, strict=True))


def test_all_seats_of_many_games_are_played_by_whoever_chooses_for_them() -> None:
    games = VectorGames("risk-duel", num_envs=32, luck=None)
    games.reset(seed=2)
    random = np.random.default_rng(2)
    ends, spread = 0, []
    totals = np.zeros((32, 2))
    for _ in range(200):
        vectors, masks = games.observe()
        assert (vectors[:, -1] == 1).all(), "each is seen by the seat whose turn it is"
        before = games.to_move
        rewards, ended, over = games.step(choose_uniformly(vectors, masks, random))
        assert np.allclose(rewards.sum(1), 0)
        assert (ended.all(1) == over).all()
        assert (games.to_move == np.where(over, 0, 1 - before)).all()
        totals += rewards
        spread += totals[over, 0].tolist()
        totals[over] = 0
        ends += over.sum()
    assert ends > 60
    assert np.std(spread) < 0.5, "a result, of 1 or -1, varies by 1"


def test_a_masked_action_is_refused_with_those_that_are_legal_and_nothing_has_happened() -> None:
    games = VectorGames("tictactoe", num_envs=3)
    games.reset()
    games.step(np.array([4, 0, 8]))
    with pytest.raises(IllegalMove, match="action 0 is masked for seat_1 of game 1; legal: 1, 2, 3, 4, 5, 6, 7, 8"):
        games.step(np.array([0, 0, 0]))
    with pytest.raises(IllegalMove, match="action 9 is masked for seat_1 of game 0"):
        games.step(np.array([9, 1, 1]))
    assert (games.observe()[1].sum(1) == 8).all()


def test_what_cannot_be_made_or_played_is_refused_in_one_line() -> None:
    for call, said in (
        (lambda: VectorGames("nim", num_envs=0), "num_envs is 0: it must be a whole number, 1 or more"),
        (lambda: VectorGames("kuhn", num_envs=1, luck="skill"), "kuhn under this config has no value function 'skill'"),
        (
            lambda: VectorSingle("nim", num_envs=1, render_mode="human"),
            "render_mode is 'human': it must be None or 'ansi'",
        ),
        (
            lambda: VectorSingle("nim", num_envs=1, autoreset_mode=AutoresetMode.DISABLED),
            "autoreset_mode must be one of",
        ),
        (lambda: VectorSingle("nim", {"heaps": [0]}, num_envs=2).reset(), "the game is over before it begins"),
        (lambda: VectorGames("nim", num_envs=2).reset(seed=[1]), "seed has 1 numbers: give one, or 2,"),
        (lambda: VectorGames("nim", num_envs=anything(2.5)), r"num_envs is 2\.5: it must be a whole number"),
        (
            lambda: VectorSingle("nim", num_envs=2).reset(seed=-5),
            "seed is -5: it must be a whole number from 0, or one for",
        ),
        (
            lambda: VectorSingle("nim", num_envs=2).reset(seed=anything([1, None])),
            "seed is .*: it must be a whole number",
        ),
        (lambda: VectorGames("nim", num_envs=2).reset(seed=anything("xy")), "seed is 'xy': it must be a whole number"),
        (lambda: VectorGames("nim", num_envs=2).reset(seed=anything(1.5)), r"seed is 1\.5: it must be a whole number"),
        (
            lambda: VectorSingle("nim", num_envs=2, opponent=anything("random")),
            "opponent is 'random': it must be a funct",
        ),
    ):
        with pytest.raises(UsageFault, match=said):
            call()
    games = VectorGames("nim", num_envs=2)
    games.reset()
    with pytest.raises(UsageFault, match=r"actions are an array of float64 \(2,\): give an array of integers"):
        games.step(np.array([1.0, 2.0]))
    with pytest.raises(UsageFault, match=r"actions are an array of int64 \(1,\)"):
        games.step(np.array([1]))
    world = VectorSingle("nim", num_envs=2)
    world.reset()
    for actions in (np.zeros(4, np.int64), np.zeros(1, np.int64), np.zeros((2, 1), np.int64)):
        with pytest.raises(UsageFault, match=r"one for each game that moves, \(2,\)"):
            world.step(actions)


def test_games_that_have_not_begun_ask_for_a_reset() -> None:
    games, world = VectorGames("nim", num_envs=2), VectorSingle("nim", num_envs=2, render_mode="ansi")
    actions = np.zeros(2, np.int64)
    for call in (
        lambda: games.to_move,
        games.observe,
        lambda: games.step(actions),
        lambda: world.step(actions),
        world.action_masks,
        world.render,
    ):
        with pytest.raises(UsageFault, match=r"the games have not begun: call reset\(\) first"):
            call()
