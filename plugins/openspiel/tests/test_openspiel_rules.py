"""OpenSpiel's games as games of the arena: names, parameters, chance, hidden information, seats that leave."""

from __future__ import annotations

import pickle
import subprocess
import sys
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from pettingzoo.test import api_test

from bot_arena_openspiel.chance import MAX_WEIGHT_SUM, weights_of
from bot_arena_openspiel.rules import GUESSED_GAMES, SPECTATOR_VIEW, OpenSpielRounds
from bots.environments import env
from bots.playing.matches import play
from bots.search.uct import has_tree_search
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove, UnknownGame, UsageFault
from protocol.games import game_spec, load_game
from protocol.messages import CHANCE, Event

KEY = bytes(32)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("catch", "openspiel:catch can't be played: it has 1 seats, not 2 to 10"),
        ("negotiation", "it draws its chance itself, so nobody could check the dice"),
        ("mfg_garnet", "it is a mean field game, which has no seats"),
        ("repeated_game", "OpenSpiel can't load it without parameters: Missing parameter"),
        ("hexx", "there is no game 'openspiel:hexx': OpenSpiel has hex, "),
    ],
)
def test_a_game_that_can_not_be_played_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(UnknownGame) as fault:
        game_spec(f"openspiel:{name}")
    assert reason in str(fault.value)
    assert "\n" not in str(fault.value)


def test_another_game_is_found_without_openspiel() -> None:
    program = (
        "from protocol.games import is_known_game; import sys; is_known_game('none'); print('pyspiel' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_a_spec_names_openspiels_version_and_a_digest_of_all_sources() -> None:
    spec = game_spec("openspiel:hex")
    assert spec.version.startswith("open_spiel 2.")
    assert len(spec.digest) == 64
    assert load_game("openspiel:hex").title == "Hex"


def test_a_config_sets_parameters_within_bounds() -> None:
    game = load_game("openspiel:hex", {"board_size": 3})
    state, _ = game.initial(Dice(KEY, 0))
    assert len(game.legal_moves(state)) == 9
    assert load_game("openspiel:go", {"komi": "6.5"}).config["komi"] == "6.5"
    assert load_game("openspiel:goofspiel", {"points_order": "ascending"}).config["points_order"] == "ascending"
    assert game.preset is None
    assert load_game("openspiel:hex").pool == "openspiel:hex/classic"


@pytest.mark.parametrize(
    ("name", "config", "refusal"),
    [
        ("hex", {"board_size": 500}, "openspiel:hex: board_size is 500: it must be an integer from 2 to 22"),
        ("connect_four", {"rows": 0}, "rows is 0: it must be an integer from 2 to 12"),
        ("go", {"komi": 7.5}, 'komi is 7.5: it must be a number from 0 to 15 in quotes, like "7.5"'),
        ("dark_chess", {"fen": "x"}, "openspiel:dark_chess has no config key 'fen': it has board_size, opening"),
        ("kuhn_poker", {"players": 20}, "players is 20: it must be an integer from 2 to 6"),
        ("leduc_poker", {"opening": 1}, "opening must be left out: no open chance event begins the game"),
        ("twixt", {"ansi_color_output": True}, "has no config key 'ansi_color_output'"),
    ],
)
def test_other_parameters_are_refused(name: str, config: dict[str, object], refusal: str) -> None:
    with pytest.raises(BadConfig) as fault:
        load_game(f"openspiel:{name}", config)
    assert refusal in str(fault.value)


def test_a_turn_names_its_moves_and_takes_them_with_the_name_or_without() -> None:
    game = load_game("openspiel:tic_tac_toe")
    state, _ = game.initial(Dice(KEY, 0))
    legal, options = game.legal_moves_for_turn(state)
    assert legal[4] == {"action": 4, "name": "x(1,1)"}
    assert options is None
    named, plain = game.decode_move(legal[4]), game.decode_move({"action": 4})
    assert named == plain
    assert (game.notation(named), game.notation(plain)) == ("4 x(1,1)", "4")
    assert game.parse_move("4 x(1,1)") == plain
    after, event = game.apply(state, named, Dice(KEY, 0))
    assert event == Event(ply=0, seat=0, move={"action": 4}, result={"text": "x(1,1)"})
    assert game.describe_event(event) == "x(1,1)"
    assert game.draw_board(after) == "...\n.x.\n..."
    with pytest.raises(IllegalMove, match="4 is not a legal action now: one of 0, 1, 2, 3, 5, 6, 7, 8"):
        game.apply(after, plain, Dice(KEY, 1))
    with pytest.raises(MalformedMove):
        game.decode_move({"action": 4, "name": 4})


def test_a_state_is_read_again_from_its_history_also_by_rules_that_have_not_seen_it() -> None:
    game = load_game("openspiel:tic_tac_toe")
    state, _ = game.initial(Dice(KEY, 0))
    for move in (4, 0, 8):
        state, _ = game.apply(state, move, Dice(KEY, 0))
    wire = game.encode_state(state)
    assert wire == {"history": "4 0 8", "view": None, "to_move": 1, "ply": 3}
    again = pickle.loads(pickle.dumps(game)).decode_state(wire)
    assert again == state
    assert str(again.node) == str(state.node)


@pytest.mark.parametrize(
    ("name", "history"),
    [
        ("tic_tac_toe", "4 4"),
        ("tic_tac_toe", "4 0 999999"),
        ("tic_tac_toe", "0 3 1 4 2 5"),
        ("tic_tac_toe", "4,0"),
        ("tic_tac_toe", "4 x"),
        ("kuhn_poker", "0 0"),
        ("goofspiel", "0 1,1,1"),
        ("goofspiel", "0 1,99"),
    ],
)
def test_a_history_that_could_not_be_played_is_refused_before_openspiel_gets_it(name: str, history: str) -> None:
    game = load_game(f"openspiel:{name}")
    wire = game.encode_state(game.initial(Dice(KEY, 0))[0])
    with pytest.raises(ValueError, match="of the history can't be played"):
        game.decode_state({**wire, "history": history})


def test_a_seat_sees_its_information_state_and_nobody_sees_the_cards_of_others() -> None:
    game = load_game("openspiel:kuhn_poker")
    state, deal = game.initial(Dice(KEY, 0))
    state, _ = game.apply_chance(state, Dice(KEY, 1))
    wire = game.encode_state(state)
    own, other = (game.view(wire, seat) for seat in (0, 1))
    cards = wire["history"].split()
    assert (own["history"], own["view"]) == (None, cards[0])
    assert other["view"] == cards[1]
    assert game.view(wire, None)["view"] == SPECTATOR_VIEW
    assert game.draw_board(game.decode_state(own)) == cards[0]
    assert deal is not None
    assert game.view_event(deal, 0) == Event(ply=0, seat=CHANCE, move={"outcome": None, "of": None})
    bet = Event(ply=2, seat=0, move={"action": 1}, result={"text": "Bet"})
    assert game.view_event(bet, 0) == bet
    assert game.view_event(bet, 1) == Event(ply=2, seat=0, move={"action": None})


def test_a_round_hides_bids_only_if_the_config_does() -> None:
    opened, closed = (load_game("openspiel:goofspiel", {"imp_info": hides}) for hides in (False, True))
    assert (opened.hidden, closed.hidden) == (False, True)
    event = Event(ply=1, seat=CHANCE, moves=[{"action": 3}, {"action": 5}], result={"text": "4, 6"})
    assert opened.view_event(event, 0) == event
    assert closed.view_event(event, 0) == Event(ply=1, seat=CHANCE, moves=[{"action": 3}, {"action": None}])


def test_a_first_deal_in_the_open_can_be_set_so_that_a_pair_shares_it() -> None:
    game = load_game("openspiel:backgammon")
    dealt = load_game("openspiel:backgammon", game.config_of_deal(Dice(KEY, 0)))
    assert isinstance(dealt.config["opening"], int)
    drawn, event = game.initial(Dice(KEY, 0))
    assert event is not None
    assert event.move is not None
    assert event.move["outcome"] == dealt.config["opening"]
    first, nothing = dealt.initial(Dice(KEY, 0))
    assert nothing is None
    assert str(first.node) == str(drawn.node)
    assert dealt.pools == ["openspiel:backgammon/classic", "openspiel:backgammon/classic:people"]


def test_chance_plays_for_a_seat_that_left() -> None:
    game = load_game("openspiel:goofspiel", {"players": 3, "num_cards": 4})
    assert isinstance(game, OpenSpielRounds)
    state, _ = game.initial(Dice(KEY, 0))
    state = game.remove_seat(state, 1)
    assert game.movers(state) == (0, 2)
    moves = {0: 0, 2: 3}
    after, event = game.resolve_round(state, moves, Dice(KEY, 1))
    assert event.moves == [{"action": 0}, None, {"action": 3}]
    assert after in [outcome for _, outcome in game.round_outcomes(state, moves)]
    assert sum(probability for probability, _ in game.round_outcomes(state, moves)) == 1
    assert game.ranks(state) == (1, 3, 1)
    alone = game.remove_seat(game.remove_seat(state, 0), 2)
    assert game.to_move(alone) == CHANCE
    assert game.encode_state(game.apply_chance(alone, Dice(KEY, 1))[0])["left"] == [1, 0, 2]


def test_a_general_sum_is_paid_as_payoffs() -> None:
    game = load_game("openspiel:matrix_pd")
    assert isinstance(game, OpenSpielRounds)
    state, _ = game.initial(Dice(KEY, 0))
    assert (game.payoff_unit, game.zero_sum, game.returns(state)) == ("round", False, (0, 0))
    after, _ = game.resolve_round(state, {0: 1, 1: 0}, Dice(KEY, 0))
    assert (game.returns(after), game.ranks(after)) == ((10, 0), (1, 2))
    assert game.count_rounds(after) == (1, 0)


@pytest.mark.parametrize(
    ("probabilities", "weights"),
    [
        ((0.5, 0.5), (1, 1)),
        ((1 / 36, 35 / 36), (1, 35)),
        ((1 / 30,) * 30, (1,) * 30),
        ((0.1, 0.2, 0.7), (1, 2, 7)),
    ],
)
def test_probabilities_become_whole_weights(probabilities: tuple[float, ...], weights: tuple[int, ...]) -> None:
    assert weights_of(probabilities) == weights


def test_probabilities_of_no_small_fraction_are_rounded_and_none_to_nothing() -> None:
    weights = weights_of((1e-9, 2**-0.5, 1 - 2**-0.5 - 1e-9))
    assert sum(weights) == MAX_WEIGHT_SUM
    assert weights[0] == 1
    assert abs(Fraction(weights[1], MAX_WEIGHT_SUM) - Fraction(2**-0.5)) < Fraction(2, MAX_WEIGHT_SUM)


def test_searches_play_a_game_with_open_information() -> None:
    match = play(["uct:sims=30", "random"], "openspiel:connect_four", seed=3)
    assert match.points == [1, 0]


@pytest.mark.parametrize("name", sorted(GUESSED_GAMES))
def test_a_search_draws_what_its_seat_does_not_see_from_the_view_alone(name: str) -> None:
    game = load_game(f"openspiel:{name}")
    rng, guesses = Random(1), 0
    for _ in range(3):
        state, _ = game.initial(Dice(rng.randbytes(32), 0))
        while (seat := game.to_move(state)) is not None:
            if seat == CHANCE:
                state, _ = game.apply_chance(state, Dice(rng.randbytes(32), 0))
                continue
            wire = game.encode_state(state)
            seen = game.decode_state(game.view(wire, seat))
            drawn = game.sample_state(seen, seat, rng.randrange)
            assert game.view(game.encode_state(drawn), seat) == game.view(wire, seat)
            assert game.legal_moves(drawn) == game.legal_moves(seen) == game.legal_moves(state)
            again = game.decode_state(game.encode_state(drawn))  # its history can be played
            assert game.view(game.encode_state(again), seat) == game.view(wire, seat)
            assert game.view(wire, 1 - seat if seat < 2 else 0)["guess"] is None
            guesses += 1
            state, _ = game.apply(state, rng.choice(game.legal_moves(state)), Dice(rng.randbytes(32), 0))
    assert guesses > 3
    bots = ["uct:sims=10", *(f"bot{seat}=random" for seat in range(1, game.seats))]
    assert play(bots, f"openspiel:{name}", seed=1).result.reason != "void"


def test_a_search_says_that_it_does_not_play_a_game_in_which_openspiel_draws_nothing() -> None:
    assert has_tree_search("openspiel:leduc_poker")
    assert has_tree_search("openspiel:connect_four")
    with pytest.raises(UsageFault, match="uct does not play openspiel:liars_dice: its rules can't draw at random what"):
        play(["uct", "random"], "openspiel:liars_dice")
    with pytest.raises(UsageFault, match="uct does not play openspiel:goofspiel: its rules can't draw at random what"):
        play(["uct", "random"], "openspiel:goofspiel", config={"imp_info": True})


@pytest.mark.parametrize("name", ["connect_four", "leduc_poker", "backgammon", "goofspiel"])
def test_learners_get_openspiels_tensors(name: str) -> None:
    learners = env(f"openspiel:{name}")
    learners.reset(seed=1)
    observation = learners.observe(learners.agents[0])["observation"]
    assert observation.dtype == np.float32
    api_test(env(f"openspiel:{name}"), num_cycles=30)
