"""Bots on a machine that has not the rules of the game: they play on what the arena tells them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from msgspec import structs

from arena.commands.watch import MatchDisplay
from bots.agents.answers import describe_games, describe_match
from bots.agents.page import PageClient
from bots.agents.replays import read_replay
from bots.agents.talk import AgentProtocol
from bots.client.bot import Bot, GameList, Turn
from bots.client.conversation import Conversation, WarmUp
from bots.client.loading import find_entry_point, make_bot
from bots.client.progress_report import format_result
from bots.client.run import for_people
from bots.client.settings import PartialSettings, Settings, merge_settings
from bots.client.turn_text import format_events
from bots.client.worker_threads import Choose, Conclude, Prepare, do_work
from bots.commands.piped_lines import encode_turn, parse_answer
from bots.playing.versions import compare_versions
from bots.reference.human import Human, format_turn, read_move
from bots.reference.random_bot import RandomBot
from example_games import CONNECT_FOUR, ONE_CARD, PIG, TWENTY_ONE
from machine.client.client_protocol import Effect, PrintLine, Stop
from match_script import Script
from protocol import messages
from protocol.dice import Dice
from protocol.errors import IllegalMove, MalformedMove, UsageFault
from protocol.games import is_known_game
from protocol.games.base import Game
from protocol.games.turn_game import TurnGame
from protocol.games.wire_game import WireGame
from protocol.messages import CHANCE, Event

GAMES = [CONNECT_FOUR, PIG, ONE_CARD, TWENTY_ONE]


class Arena(Script):
    """The arena's messages of one match, in which the bot sits on seat 0 and the others move at random."""

    def __init__(self, game: type[TurnGame[Any, Any]]) -> None:
        super().__init__(game.rules({}), rival="bob")
        self.name = game.name
        self.events: list[Event] = []
        self.state, dealt = self.rules.initial(self.dice)
        self.events += [] if dealt is None else [dealt]

    @property
    def dice(self) -> Dice:
        return Dice(b"key", len(self.events))

    def welcomes(self) -> messages.Welcome:
        return self.welcome(games=["nim", self.name])

    def next_turn(self) -> messages.Turn | None:
        """Play until it is the turn of the bot. Return None if the match is over."""
        while (seat := self.rules.to_move(self.state)) not in (None, 0):
            if seat == CHANCE:
                self.state, event = self.rules.apply_chance(self.state, self.dice)
                self.events.append(event)
            else:
                self._play(self.rules.encode_move(self.rules.legal_moves(self.state)[-1]))
        return None if seat is None else self.turn_at(self.state, self.events)

    def _play(self, move: Mapping[str, Any]) -> None:
        self.state, event = self.rules.apply(self.state, self.rules.decode_move(move), self.dice)
        self.events.append(event)

    def take(self, effects: list[Effect]) -> list[str]:
        """Play the bot's move, if there is one. Return the lines that the bot printed."""
        for effect in effects:
            if isinstance(effect, messages.Move):
                self._play(dict(effect.move))
        return [effect.line for effect in effects if isinstance(effect, PrintLine)]


def begin(bot: Bot, arena: Arena, **settings: Any) -> tuple[Conversation, list[Effect]]:
    """Return a conversation whose match has begun, and the effects of its first turn."""
    talk = Conversation(bot, Settings(**{"seed": "7", **settings}), "t" * 20)
    (seek,) = (effect for effect in talk.receive(arena.welcomes(), 0.0) if isinstance(effect, messages.Seek))
    assert seek.game == arena.name
    talk.receive(arena.start(seek=seek.id), 0.0)
    turn = arena.next_turn()
    assert turn is not None
    return talk, talk.receive(turn, 0.0)


def think(conversation: Conversation, bot: Bot, effects: list[Effect]) -> list[Effect]:
    work = next(effect for effect in effects if isinstance(effect, (Choose, Prepare, Conclude)))
    return conversation.handle_result(do_work(bot, work))


@pytest.fixture(autouse=True)
def no_rules() -> None:
    assert not any(is_known_game(game.name) for game in GAMES)


@pytest.mark.parametrize("game", GAMES)
def test_a_bot_plays_a_whole_match_on_the_legal_moves_that_it_is_told(game: type[TurnGame[Any, Any]]) -> None:
    bot, arena = RandomBot("mine"), Arena(game)
    talk, effects = begin(bot, arena, game=arena.name)
    moves = 0
    while True:
        assert arena.take(think(talk, bot, effects)) == []
        moves += 1
        turn = arena.next_turn()
        if turn is None:
            break
        arena.events.clear()
        effects = talk.receive(turn, 0.0)
    assert moves > 1 or game is ONE_CARD


def test_where_the_arena_lists_a_part_of_the_moves_one_of_them_is_played_and_others_may_be_typed() -> None:
    turn = replace(choice(CONNECT_FOUR), options={"columns": 7}, legal=[{"move": 2}, {"move": 5}])
    assert RandomBot("mine").choose(turn) in turn.legal
    assert read_move(turn, '{"move": 7}') == {"move": 7}
    assert "and others, like 2" in format_turn(turn)


class Asking(Bot):
    """Asks the rules for something that only they know."""

    what = "rules"

    def choose(self, turn: Turn) -> Any:
        if self.what == "rules":
            return turn.rules.encode_move(turn.rules.legal_moves(turn.position)[0])
        return turn.legal[turn.position.number]


@pytest.mark.parametrize("what", ["rules", "position"])
def test_a_bot_that_asks_the_rules_is_told_so_in_one_line_with_the_line_of_its_code(what: str) -> None:
    bot = Asking("mine")
    bot.what = what
    talk, effects = begin(bot, Arena(CONNECT_FOUR), game="connect4")
    (line,) = Arena(CONNECT_FOUR).take(effects := think(talk, bot, effects))
    name = "turn.rules.legal_moves" if what == "rules" else "turn.position.number"
    assert line.startswith(
        f"mine: {name} needs the arena's rules of connect4, which this machine does not have: choose from turn.legal "
        "by "
        "turn.state, or fetch the rules with arena-bot game get, in test_games_without_rules.py line "
    )
    assert line.endswith("; the match is lost")
    (resigned,) = (effect for effect in effects if isinstance(effect, messages.Resign))
    assert resigned.failure is not None
    assert resigned.failure.startswith(f"{name} needs the arena's rules of connect4")


def test_a_bot_for_any_game_plays_what_only_the_arena_has_and_others_say_what_they_need() -> None:
    game = WireGame("connect4", {})
    for word in ("random", "human"):
        make_bot(find_entry_point(word).load(), word, {}, {}).check_game(game)
    for word in ("greedy", "uct", "alphabeta", "level"):
        bot = make_bot(find_entry_point(word).load(), word, {}, {})
        with pytest.raises(UsageFault) as caught:
            bot.check_game(game)
        assert str(caught.value) == (
            f"{word} needs the arena's rules of connect4, which this machine does not have: fetch them with arena-bot "
            "game get; for connect4 there are human, random"
        )


class OnlyNim(RandomBot):
    games = ("nim",)


def test_a_bot_of_other_games_does_not_ask_for_rules() -> None:
    with pytest.raises(UsageFault, match="mine does not play connect4: it plays nim; for connect4 there are "):
        OnlyNim("mine").check_game(WireGame("connect4", {}))


def test_only_the_arena_says_that_there_is_no_game() -> None:
    settings = merge_settings(PartialSettings(game="connect4", config={"columns": 5}))
    assert (settings.game, settings.config) == ("connect4", {"columns": 5})
    talk = Conversation(RandomBot("mine"), Settings(game="halma"), "t" * 20)
    *_, line, stop = talk.receive(Arena(PIG).welcomes(), 0.0)
    assert line == PrintLine("mine: the arena does not play halma; it plays nim, pig", is_error=True)
    assert stop == Stop(1)


def test_without_a_game_a_bot_takes_one_that_only_the_arena_has() -> None:
    class Fond(RandomBot):
        games = GameList()

    talk = Conversation(Fond("mine"), Settings(), "t" * 20)
    welcome = Script().welcome(games=["pig"])
    assert [e.game for e in talk.receive(welcome, 0.0) if isinstance(e, messages.Seek)] == ["pig"]


class Warm(RandomBot):
    def warm_up(self, game: Game[Any, Any] | None) -> None:
        raise AssertionError


def test_an_open_bot_takes_matches_of_games_that_only_the_arena_has() -> None:
    settings = Settings(open=True, slots=9)
    effects = Conversation(RandomBot("mine"), settings, "t" * 20).receive(Arena(PIG).welcomes(), 0.0)
    assert [(e.game, e.presets) for e in effects if isinstance(e, messages.Seek)] == [("nim", []), ("pig", [])]
    talk = Conversation(Warm("mine"), settings, "t" * 20)
    effects = talk.receive(Arena(PIG).welcomes(), 0.0)
    (warming,) = (effect for effect in effects if isinstance(effect, messages.Warming))
    assert warming.games[-1] == "pig"
    assert [effect for effect in effects if isinstance(effect, WarmUp)] == [WarmUp("nim")]
    effects = talk.on_warmed_up("pig", None)
    assert [e.game for e in effects if isinstance(e, messages.Seek)] == ["pig"]


def test_an_open_bot_of_another_game_does_not_play_them() -> None:
    effects = Conversation(OnlyNim("mine"), Settings(open=True, slots=9), "t" * 20).receive(Arena(PIG).welcomes(), 0.0)
    assert [e.game for e in effects if isinstance(e, messages.Seek)] == ["nim"]


def choice(game: type[TurnGame[Any, Any]]) -> Turn:
    _, effects = begin(Human("mine"), Arena(game), game=game.name)
    return next(effect.turn for effect in effects if isinstance(effect, Choose))


def test_a_person_sees_the_state_and_chooses_a_listed_move(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = choice(CONNECT_FOUR)
    seen = format_turn(turn)
    assert seen.startswith("m-1: you are seat 0, bob is seat 1\n")
    assert [key for key in turn.state if f"{key}: " in seen or f"{key}:\n" in seen]
    assert read_move(turn, "3") == {"move": 3}
    assert read_move(turn, '{"move": 3}') == {"move": 3}
    with pytest.raises(MalformedMove, match="'left' is not one of the listed moves"):
        read_move(turn, "left")
    with pytest.raises(IllegalMove, match="99 is not one of the listed moves"):
        read_move(turn, '{"move": 99}')
    monkeypatch.setattr("sys.stdin", io.StringIO("help\nmoves\nboard\n2\n"))
    assert Human("mine").choose(turn) == {"move": 2}


@pytest.mark.parametrize("game", GAMES)
def test_a_person_sees_the_moves_of_every_game(game: type[TurnGame[Any, Any]]) -> None:
    turn = choice(game)
    for legal in turn.legal:
        assert read_move(turn, WireGame(game.name, {}).notation(legal)) == legal


def test_people_get_the_preset_of_the_arena() -> None:
    assert for_people(Settings(game="connect4")) == Settings(game="connect4")


def test_a_program_is_asked_by_the_line_protocol() -> None:
    turn = choice(PIG)
    assert encode_turn(turn).startswith(b'{"type":"turn","legal":[{"move":"roll"}')
    answered = parse_answer(b'{"move":"roll"}\n', turn)
    assert answered is not None
    assert answered.move == {"move": "roll"}


def test_two_versions_need_the_rules() -> None:
    with pytest.raises(UsageFault, match="there is no game 'connect4': one of nim"):
        compare_versions(RandomBot("mine"), Settings(game="connect4", against="old.py"))


def test_a_result_with_payoffs_has_no_unit_that_only_the_rules_know() -> None:
    arena = Arena(ONE_CARD)
    seats = [
        messages.Outcome(bot="mine", rank=1, reason="win", payoff=1.0),
        messages.Outcome(bot="bob", rank=2, reason="win", payoff=-1.0),
    ]
    end = structs.replace(Script().end(), seats=seats)
    assert format_result(arena.start(), 0, end) == "mine: won m-1 against bob, 1.000 to -1.000, unrated"


@pytest.mark.parametrize("game", GAMES)
def test_an_agent_plays_and_is_told_what_the_arena_tells(game: type[TurnGame[Any, Any]]) -> None:
    arena = Arena(game)
    talk = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    talk.receive(arena.welcomes(), 0.0)
    talk.receive(arena.start(), 0.0)
    turn = arena.next_turn()
    assert turn is not None
    talk.receive(turn, 0.0)
    assert talk.match is not None
    now = describe_match(talk.match, 0.0, whole_board=True)
    assert now.legal_moves
    assert now.how_to_move == now.legal_moves[0]
    assert now.board
    assert (now.game, now.position) == (game.name, turn.state)


def test_an_agent_reads_a_replay_by_the_states_that_the_page_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena(CONNECT_FOUR)
    first = arena.rules.encode_state(arena.state)
    arena._play({"move": 3})
    told = {
        "header": {"game": "connect4", "config": arena.rules.config, "seats": [{"bot": "ann"}, {"bot": "bob"}]},
        "start": first,
        "plies": [{"event": msgspec.to_builtins(arena.events[0]), "state": arena.rules.encode_state(arena.state)}],
        "footer": {"ranks": [1, 2], "reason": "win"},
    }
    monkeypatch.setattr(PageClient, "fetch", lambda self, *path: told)
    replay = read_replay(PageClient("ws://arena"), "m-1", 0)
    assert [ply.happened for ply in replay.plies] == ["ann: 3"]
    assert replay.board == WireGame("connect4", {}).draw_board(told["plies"][0]["state"])
    assert read_replay(PageClient("ws://arena"), "m-1", 1).board


def test_an_agent_is_told_that_only_the_arena_has_the_rules() -> None:
    said = describe_games(["nim", "connect4"]).format_text()
    assert said.endswith(
        "connect4: only the arena has the rules: its page has them at /rules, and look lists your legal moves\n"
        "Write a move like one that look lists."
    )


def test_a_match_is_watched_by_the_states_that_the_arena_tells(capsys: pytest.CaptureFixture[str]) -> None:
    arena = Arena(PIG)
    arena._play({"move": "roll"})
    turn = arena.next_turn()
    assert turn is not None
    display = MatchDisplay(arena.start())
    display.show_turn(turn)
    shown = capsys.readouterr().out
    assert "0  mine: roll, 60.0 s left\n" in shown
    assert '1  chance: {"outcome":' in shown
    assert "\nscores: 0 0\n" in shown
    assert shown.endswith("mine is to move\n")


def test_chance_of_which_nothing_can_be_said_is_not_told() -> None:
    game = WireGame("pig", {})
    events = [Event(ply=0, seat=1, move={"move": "roll"}), Event(ply=1, seat=CHANCE, move={"outcome": 3, "of": 6})]
    assert format_events(game, [messages.Player(bot="ann"), messages.Player(bot="bob")], 0, events) == ["bob: roll"]
