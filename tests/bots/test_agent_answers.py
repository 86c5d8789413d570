"""What an agent is told of its match."""

from __future__ import annotations

from agent_duels import told, turn_of
from bots.agents.answers import Here, Look, describe_games, describe_match
from bots.agents.talk import AgentMatch, AgentProtocol
from bots.client.bot import Choice
from protocol import games, messages
from protocol.messages import Event, ListedBot, ListedSeek

DUEL = games.load_game("risk-duel", {"preset": "africa"})


def turn(owner: list[int], troops: list[int], ply: int, *events: Event) -> messages.Turn:
    return turn_of(DUEL, {"owner": owner, "troops": troops, "to_move": 0, "ply": ply}, *events)


def duel(first: messages.Turn) -> tuple[AgentProtocol, AgentMatch]:
    return told(DUEL, "africa", "bob", first)


def test_after_a_move_a_large_board_is_told_by_what_changed() -> None:
    protocol, match = duel(turn([0, 0, 1, 1, 1, 1], [3] * 6, 6))
    assert describe_match(match, 0, whole_board=True).board.splitlines()[:2] == [
        "A is seat 0, B 1",
        "0 North Africa: A 3; borders Egypt, East Africa, Congo",
    ]
    own = Event(ply=6, seat=0, move={"do": "attack", "from": 0, "to": 3}, dice=[[5], [2]], result={"taken": True})
    theirs = Event(ply=7, seat=1, move={"do": "reinforce", "at": 2})
    protocol.receive(turn([0, 0, 1, 0, 1, 1], [3, 3, 5, 1, 3, 3], 8, own, theirs), 0)
    now = describe_match(match, 0, whole_board=False)
    assert now.board == "2 (East Africa): B 5; 3 (Congo): A 1\nA 3 territories with 7, B 3 with 11"
    assert now.happened == ["you: North Africa > Congo: 5-2 taken", "bob: reinforce East Africa"]


def test_where_much_has_changed_the_whole_board_is_told_in_words() -> None:
    protocol, match = duel(turn([0, 0, 1, 1, 1, 1], [3] * 6, 6))
    describe_match(match, 0, whole_board=True)
    protocol.receive(turn([1, 1, 0, 0, 0, 0], [4] * 6, 8), 0)
    assert "\n3 Congo: A 4; borders " in describe_match(match, 0, whole_board=False).board


def test_the_words_have_all_that_one_has_to_know() -> None:
    _, match = duel(turn([0, 0, 1, 1, 1, 1], [3, 3, 9, 9, 9, 9], 6))
    words = (
        Look(state="your_turn", next="move", match=describe_match(match, 0, whole_board=True))
        .format_text()
        .splitlines()
    )
    assert words[0] == "m-1: risk-duel (africa), rated; you are seat 0, bob is seat 1"
    assert words[-4:] == [
        "clocks: model 60 s, bob 60 s; each move adds 0.5 s",
        "legal moves: reinforce North Africa; reinforce Egypt",
        "write a move like b2 > a2 to attack, invade c1, reinforce a2",
        "move",
    ]


AXELROD = games.load_game("dilemma", {"preset": "axelrod"})


def test_who_has_chosen_in_a_round_is_told_whom_it_waits_for_and_then_what_all_chose() -> None:
    first = turn_of(AXELROD, {"payoffs": [0, 0], "last": None, "to_move": [0, 1], "ply": 0})
    protocol, match = told(AXELROD, "axelrod", "bob", first)
    now = describe_match(match, 0, whole_board=True)
    assert (now.to_move, now.legal_moves) == ((0, 1), ["cooperate", "defect"])
    protocol.move(Choice({"choose": 0}))
    assert describe_match(match, 0, whole_board=True).to_move == (1,)
    event = Event(ply=0, seat=-1, moves=[{"choose": 0}, {"choose": 1}], result={"payoffs": [0, 5]})
    protocol.receive(turn_of(AXELROD, {"payoffs": [0, 5], "last": [0, 1], "to_move": [0, 1], "ply": 1}, event), 0)
    now = describe_match(match, 0, whole_board=True)
    assert (now.happened, now.to_move) == (["you: cooperate, bob: defect, payoffs 0 and 5"], (0, 1))


def test_the_rules_of_every_game_are_told() -> None:
    assert all(about.rules for about in describe_games(games.game_names()).games)


def test_a_card_that_is_not_seen_is_a_question_mark() -> None:
    kuhn = games.load_game("kuhn", {"preset": "short"})
    state = {"hand": 0, "chips": [0, 0], "cards": [2, None], "public": None, "bets": [""], "paid": [1, 1]}
    dealt = Event(ply=0, seat=-1, move={"cards": [2, None]})
    _, match = told(kuhn, "short", "bob", turn_of(kuhn, {**state, "to_move": 0, "ply": 1}, dealt))
    now = describe_match(match, 0, whole_board=True)
    assert "cards: K ?" in now.board
    assert (now.happened, now.legal_moves) == (["chance: cards K ?"], ["check", "bet"])


def test_who_is_here_is_told_with_the_presets_that_it_plays_and_what_it_gets_ready_for() -> None:
    seeks = [ListedSeek(game="nim", open=True), ListedSeek(game="dilemma", open=True, presets=["axelrod", "prison"])]
    here = Here(bots=[ListedBot(bot="bob", seeks=seeks, warming=["risk-duel"])], matches=[])
    told = "bob: accepts any match of nim, dilemma (axelrod, prison), prepares for risk-duel"
    assert here.format_text().splitlines()[0] == told
