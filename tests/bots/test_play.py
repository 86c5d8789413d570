"""`play`: matches without an arena. What bots do wrong costs them what it costs them there."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from arena.replay.verify import verify_record
from bots import Bot, Choice, GiveUp, Played, Turn, play, play_all
from bots.client.bot import Bot as AnyBot
from bots.playing import matches
from bots.playing.local_match import STOP_GRACE_S, LocalClient, LocalMatch, LocalTimeouts
from dask_cluster import cluster
from protocol.errors import BadConfig, Fault, UnknownGame, UsageFault
from protocol.messages import Clock, End, Rejected, Start
from referee import record_reader
from referee.record import Strike
from turns import Chooses, First

BANK_S = 60.0
CLOCK = Clock(bank_ms=60_000, increment_ms=0)
THOUGHT_S = 100.0


class ThoughtClock:
    """By which it is measured how long bots think: it goes on only while one `thinks`."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def think(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def thought(monkeypatch: pytest.MonkeyPatch) -> ThoughtClock:
    clock = ThoughtClock()
    monkeypatch.setattr(matches, "LocalClient", partial(LocalClient, clock=clock))
    return clock


class Chance(Bot):
    """Draws lots, of the turn's own."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.random.choice(turn.legal)


def sleepy(clock: ThoughtClock, seconds: float = THOUGHT_S) -> First:
    """Return a bot that thinks for long about its second move."""

    class Sleepy(First):
        def choose(self, turn: Turn) -> Mapping[str, Any] | Choice:
            if turn.ply in (2, 3):
                clock.think(seconds)
            return super().choose(turn)

    return Sleepy("sleepy")


def quiet(*bots: Bot | type[Bot] | str, game: str = "nim", **options: Any) -> tuple[Played, list[str]]:
    said: list[str] = []
    return play(bots, game, say=said.append, **{"seed": 1, **options}), said


def reasons(played: Played) -> list[str]:
    return [seat.reason for seat in played.result.seats]


def test_two_bots_a_game_and_a_seed_are_a_record_that_verifies() -> None:
    played = play([First("one"), Chance], "nim", seed=7)
    assert [seat.bot for seat in played.record.header.seats] == ["one", "chance"]
    verify_record(played.record)
    assert played.result.digest == played.record.footer.digest
    assert sorted(seat.rank for seat in played.result.seats) == [1, 2]


def test_the_same_seed_plays_the_same_match_and_another_one_another() -> None:
    one, again, other = (play(["random", Chance], "risk-duel", seed=seed) for seed in (7, 7, 8))
    assert [*one.record.lines] == [*again.record.lines]
    assert one.result.match == again.result.match != other.result.match
    assert one.result.digest != other.result.digest


def test_what_follows_from_a_seed_is_what_it_always_was() -> None:
    played = play(["random", "perfect"], "nim", seed=7)
    assert played.result.match == "play-903e0e0804c1fe61"
    assert played.record.footer.seed == "5bb224786cf4729b9cff33e476c2210ba7822f7509c874a8c44c3048efaffe08"
    assert played.record.footer.nonces == ["d2499ec37c38e8799996aee30f579947", "27e162d7f8fe998de68fb42ccb5ef1a5"]


def test_without_a_seed_one_is_drawn_and_told() -> None:
    one, other = (play(["random", "greedy"], "nim") for _ in range(2))
    assert one.seed != other.seed
    assert play(["random", "greedy"], "nim", seed=one.seed).result.digest == one.result.digest


def test_many_seeds_are_the_matches_of_each() -> None:
    many = list(play_all(["random", Chance], "risk-duel", range(3)))
    assert [played.seed for played in many] == ["0", "1", "2"]
    assert [played.result.digest for played in many] == [
        play(["random", Chance], "risk-duel", seed=seed).result.digest for seed in range(3)
    ]


def test_processes_play_the_matches_of_every_seed_in_order(tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    file.write_text(
        "from bots import Bot\n"
        "class Loud(Bot):\n"
        "    def choose(self, turn):\n"
        "        return turn.legal[0] if turn.ply < 3 else None\n"
    )
    bots, said, heard = [str(file), "loud=random"], list[str](), list[str]()
    alone = [match.result.digest for match in play_all(bots, "nim", range(5), say=said.append)]
    many = list(play_all(bots, "nim", range(5), jobs=2, say=heard.append))
    assert [match.seed for match in many] == [str(seed) for seed in range(5)]
    assert [match.result.digest for match in many] == alone
    assert heard == said != []


@pytest.mark.ci
def test_the_workers_of_a_cluster_play_them_too() -> None:
    pytest.importorskip("distributed")
    with cluster(workers=1) as address:
        many = [match.result.digest for match in play_all(["random", "greedy"], "nim", range(5), dask=address)]
    assert many == [match.result.digest for match in play_all(["random", "greedy"], "nim", range(5))]


def test_bots_that_cannot_be_sent_and_workers_that_there_are_not_are_refused_before_the_first_match() -> None:
    class Local(First):
        pass

    with pytest.raises(UsageFault, match=r"these bots can't be sent to other processes \(.*Local.*\): name them"):
        play_all([Local, "random"], "nim", [1], jobs=2)
    with pytest.raises(UsageFault, match="jobs is 0: it must be 1 or more, or None for one per core"):
        play_all(["random", "random"], "nim", [1], jobs=0)
    with pytest.raises(UsageFault, match="jobs is for this machine, dask for a cluster: give one of them"):
        play_all(["random", "random"], "nim", [1], jobs=2, dask="tcp://127.0.0.1:1")
    with pytest.raises(UsageFault, match="oracle does not play nim"):
        play_all(["random", "oracle"], "nim", [1], jobs=2)


def test_bots_of_one_name_are_told_apart_by_a_number() -> None:
    played, _ = quiet(First("mine"), First("Mine"), "mine-2=random", game="risk-campaign", config={"players": 3})
    assert [seat.bot for seat in played.result.seats] == ["mine", "Mine-2", "mine-2-2"]


def commitments(bots: Sequence[Any]) -> list[str]:
    return [played.record.header.commitment for played in play_all(bots, "nim", range(3))]


class Deep(First):
    def __init__(self, name: str, depth: int) -> None:
        super().__init__(name)
        self.depth = depth


def test_bots_of_one_name_have_other_dice_in_another_order(tmp_path: Path) -> None:
    files = []
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
        file = tmp_path / version / "mine.py"
        file.write_text("from bots import Bot\nclass Mine(Bot):\n    def choose(self, turn): return turn.legal[0]\n")
        files.append(str(file))
    pairs: list[tuple[Any, Any]] = [
        (files[0], files[1]),
        ("mine=random", files[0]),
        (First("one"), Chance("one")),
        (Deep("one", 2), Deep("one", 3)),
        (First, First("FIRST")),
    ]
    for a, b in pairs:
        assert not {*commitments([a, b])} & {*commitments([b, a])}
        assert commitments([a, b]) == commitments([a, b])


def test_the_states_are_those_of_the_rules_from_the_first_to_the_last() -> None:
    played = play(["random", "perfect"], "nim", seed=1, config={"start": "p-position", "heaps": [5, 5, 5]})
    assert len(played.states) == 1 + sum(seat.moves or 0 for seat in played.result.seats)
    assert sum(played.states[-1].heaps) == 0


def test_luck_is_told_of_the_record_by_the_value_that_is_asked_for() -> None:
    played = play(["random", "greedy"], "risk-duel", seed=1)
    assert played.luck().events
    assert sum(played.luck("features-1").total) == pytest.approx(0)
    with pytest.raises(UsageFault, match="exact"):
        played.luck("none of these")


def test_a_record_is_written_as_a_file_has_it(tmp_path: Path) -> None:
    played = play(["random", "greedy"], "nim", seed=1)
    file = tmp_path / "m.jsonl.gz"
    file.write_bytes(played.packed)
    assert record_reader.read_record(file.read_bytes(), "m") == played.record


# What bots do wrong


def test_a_bot_whose_code_fails_has_lost_and_its_author_reads_where() -> None:
    played, said = quiet(Chooses(lambda turn: turn.legal["first"]), First)
    assert reasons(played) == ["failed", "win"]
    assert str(played.closed.failures[0]).startswith("raised TypeError: list indices must be integers")
    assert "its code failed at ply 0" in said[0]
    assert 'turn.legal["first"]' in said[0]


def test_what_an_author_wants_raised_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        quiet(Chooses(lambda turn: 1 / 0), First, raises=True)
    with pytest.raises(Fault, match="choose returned 5 at ply 0"):
        quiet(Chooses(lambda turn: 5), First, raises=True)


def test_a_person_at_the_keyboard_ends_it_whatever_a_bot_does() -> None:
    class Interrupted(First):
        def choose(self, turn: Turn) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet(Interrupted, First)


@pytest.mark.parametrize("where", ["prepare", "choose"])
def test_a_bot_that_gives_up_resigns(where: str) -> None:
    class Tired(First):
        def prepare(self, start: Start) -> None:
            if where == "prepare":
                raise GiveUp("enough")

        def choose(self, turn: Turn) -> Any:
            raise GiveUp("enough")

    played, said = quiet(First, Tired)
    assert reasons(played) == ["win", "resigned"]
    assert said == ["tired: enough; the match is resigned"]


def test_three_illegal_moves_lose_and_each_is_told_and_asked_anew() -> None:
    told: list[Rejected] = []

    class Stubborn(First):
        def choose(self, turn: Turn) -> Any:
            return {"heap": 0, "take": 99}

        def rejected(self, rejected: Rejected) -> None:
            told.append(rejected)

    played, said = quiet(Stubborn, First)
    assert reasons(played) == ["illegal", "win"]
    assert len([line for line in played.record.lines if isinstance(line, Strike)]) == 3
    assert [rejected.strikes_left for rejected in told] == [2, 1]
    assert "heap 0 holds 3: 99 cannot be taken" in said[0]
    verify_record(played.record)


def test_what_no_frame_holds_is_no_answer_and_loses_by_time() -> None:
    played, said = quiet(Chooses(lambda turn: {"heap": [[[[[[[[[]]]]]]]]]}), First)
    assert reasons(played) == ["timeout", "win"]
    assert "nested deeper than 8 levels" in said[0]


def test_nothing_that_a_bot_changes_in_what_it_is_given_changes_the_match() -> None:
    class Vandal(Chance):
        def prepare(self, start: Start) -> None:
            start.config["heaps"].clear()

        def choose(self, turn: Turn) -> Mapping[str, Any]:
            move = super().choose(turn)
            for event in turn.events:
                (event.move or {}).clear()
            turn.state.clear()  # type: ignore[attr-defined]
            return move

        def ended(self, end: End) -> None:
            end.state.clear()

    played, _ = quiet(Vandal("chance"), "random")
    verify_record(played.record)
    assert played.result.digest == quiet(Chance, "random")[0].result.digest


def test_a_bot_that_drops_out_of_many_leaves_the_others_to_play_on() -> None:
    class Tired(First):
        def choose(self, turn: Turn) -> Any:
            raise GiveUp

    played, _ = quiet("random", Tired, "greedy", game="risk-campaign", config={"players": 3, "max_rounds": 2})
    assert reasons(played)[1] == "resigned"
    assert played.result.seats[1].rank == 3
    assert played.result.reason != "resigned"
    verify_record(played.record)


# Time


def test_without_a_clock_nobody_pays_for_thinking(thought: ThoughtClock) -> None:
    shown: list[float] = []

    class Watching(First):
        def choose(self, turn: Turn) -> Any:
            shown.append(turn.time_left)
            thought.think(THOUGHT_S)
            return super().choose(turn)

    played, _ = quiet(Watching, First)
    assert reasons(played) == ["win", "win"]
    assert all(seconds <= 10 for seconds in shown)
    assert {ms for line in played.record.plies for ms in line.clock} == {10_000}
    assert [seat.thought_ms for seat in played.result.seats] == [0, 0]


def test_with_a_clock_a_bot_that_thinks_for_too_long_loses_by_time(thought: ThoughtClock) -> None:
    played, _ = quiet(sleepy(thought), First, clock=CLOCK)
    assert reasons(played) == ["timeout", "win"]
    assert [line.event.out for line in played.record.plies][-1] == "timeout"
    verify_record(played.record)


def test_a_move_that_comes_too_late_finds_the_others_playing_on(thought: ThoughtClock) -> None:
    class Thinking(First):
        seconds = 6.0

        def choose(self, turn: Turn) -> Any:
            thought.think(self.seconds)
            return super().choose(turn)

    class Late(Thinking):
        seconds = 61.5

    config = {"players": 3, "max_rounds": 1}
    played, _ = quiet(
        Thinking, Late, Thinking, game="risk-campaign", config=config, clock=replace(CLOCK, increment_ms=15_000)
    )
    assert reasons(played)[1] == "timeout"
    assert played.result.reason != "timeout"
    verify_record(played.record)


def test_in_another_thread_than_the_main_one_time_counts_as_well(thought: ThoughtClock) -> None:
    with ThreadPoolExecutor(1) as pool:
        played, _ = pool.submit(quiet, sleepy(thought), First, clock=CLOCK).result()
    assert reasons(played) == ["timeout", "win"]


@pytest.mark.parametrize("where", ["prepare", "choose", "ended"])
def test_a_bot_that_never_returns_is_stopped_and_loses_by_time(where: str, thought: ThoughtClock) -> None:
    class Endless(First):
        def think(self, at: str) -> None:
            while at == where:
                thought.think(THOUGHT_S)
                seconds, _ = signal.getitimer(signal.ITIMER_REAL)
                assert 0 < seconds <= {"prepare": 10.0, "choose": BANK_S, "ended": 10.0}[where] + STOP_GRACE_S
                try:
                    signal.raise_signal(signal.SIGALRM)  # now instead of then
                except Exception:
                    raise AssertionError("what stops it is no exception that a bot may catch") from None

        def prepare(self, start: Start) -> None:
            self.think("prepare")

        def choose(self, turn: Turn) -> Any:
            self.think("choose")
            return turn.legal[0]

        def ended(self, end: End) -> None:
            self.think("ended")

    before = signal.getsignal(signal.SIGALRM)
    played, said = quiet(First, Endless, clock=CLOCK)
    assert reasons(played)[1] == {"prepare": "no_show", "choose": "timeout"}.get(where, "win")
    assert [line.partition("\n")[0] for line in said] == [
        f"endless: stopped in {played.result.match}, long after its time was up"
    ]
    assert "signal.raise_signal(" in said[0]
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)) == (before, (0.0, 0.0))
    verify_record(played.record)


def test_an_alarm_that_was_set_before_a_match_rings_after_it(thought: ThoughtClock) -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        quiet(sleepy(thought), First, clock=CLOCK)
        while not rung:
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
            signal.pause()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [signal.SIGALRM]


def test_a_bot_that_lets_nothing_stop_it_is_stopped_again(
    thought: ThoughtClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts = LocalTimeouts(repeated_stop_interval_s=0.05)
    monkeypatch.setattr(matches, "LocalMatch", partial(LocalMatch, timeouts=timeouts))
    stopped = 0

    class Deaf(First):
        def choose(self, turn: Turn) -> Any:
            nonlocal stopped
            thought.think(THOUGHT_S)
            _, again = signal.getitimer(signal.ITIMER_REAL)
            signal.setitimer(signal.ITIMER_REAL, 0.01, again)  # first soon instead of when its bank is empty
            while stopped < 3:
                try:
                    signal.pause()
                except BaseException:
                    stopped += 1
            raise AssertionError

    played, _ = quiet(First, Deaf, clock=CLOCK)
    assert reasons(played)[1] == "timeout"


def test_what_others_think_or_prepare_costs_a_bot_nothing(thought: ThoughtClock) -> None:
    class Slow(First):
        def prepare(self, start: Start) -> None:
            thought.think(5.0)

        def ended(self, end: End) -> None:
            thought.think(5.0)

    played, _ = quiet(Slow, sleepy(thought, 20.0), clock=CLOCK)
    assert "timeout" not in reasons(played)
    assert [seat.thought_ms for seat in played.result.seats] == [0, 20_000]


# What there is not


@pytest.mark.parametrize(
    ("bots", "game", "config", "fault", "says"),
    [
        (["random"], "nim", {}, UsageFault, "nim has 2 seats under this config, but 1 bots are given"),
        (["random", "oracle"], "nim", {}, UsageFault, "oracle does not play nim: it plays risk-duel"),
        (
            ["random", dict],
            "nim",
            {},
            UsageFault,
            "<class 'dict'> is not a bot: give an instance or a subclass of Bot, a",
        ),
        (["random", "nobody"], "nim", {}, UsageFault, "there is no bot 'nobody': one of alphabeta, always-cooperate"),
        (
            ["random", "x=ga:depth"],
            "nim",
            {},
            UsageFault,
            "x: 'depth' is not a setting: write KEY=VALUE, as in x=ga:KEY=VALUE",
        ),
        (["random", "x=ga:speed=4"], "nim", {}, UsageFault, "x has no setting 'speed': it has depth, eval"),
        (["random", First("no name")], "nim", {}, UsageFault, "no name: hello: bot is 'no name': 1 to 32 letters"),
        (["random", "random"], "go", {}, UnknownGame, "there is no game 'go': one of nim"),
        (["random", "random"], "nim", {"heap": 1}, BadConfig, "nim has no config key 'heap'"),
    ],
)
def test_what_can_not_be_played_is_said_in_a_line(
    bots: list[AnyBot | str], game: str, config: dict[str, Any], fault: type[Exception], says: str
) -> None:
    with pytest.raises(fault) as raised:
        play(bots, game, config=config)
    assert str(raised.value).startswith(says)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("clock", "says"),
    [
        (Clock(bank_ms=-5, increment_ms=0), "the clock's bank_ms is -5: it must be an integer from 1 to 86400000"),
        (
            Clock(bank_ms=10**8, increment_ms=0),
            "the clock's bank_ms is 100000000: it must be an integer from 1 to 86400000",
        ),
        (
            Clock(bank_ms=1000, increment_ms=0.5),  # type: ignore[arg-type]
            "the clock's increment_ms is 0.5: it must be an integer from 0 to 86400000",
        ),
        ("10+0", "clock is '10+0': it must be like Clock(bank_ms=10_000, increment_ms=100), or None"),
    ],
)
def test_a_clock_that_is_none_is_refused_in_a_line(clock: Clock, says: str) -> None:
    with pytest.raises(UsageFault) as raised:
        play_all([First, First], "nim", [1], clock=clock)
    assert str(raised.value) == says


def test_many_matches_that_can_not_be_played_are_refused_before_the_first_is_asked_for() -> None:
    with pytest.raises(UsageFault, match="oracle does not play nim"):
        play_all(["random", "oracle"], "nim", range(3))


def test_a_class_that_is_made_otherwise_is_refused_with_the_way_it_is_made() -> None:
    class Own(First):
        def __init__(self) -> None:
            super().__init__("own")

    with pytest.raises(UsageFault, match=r"own: Own\(name, \*\*settings\) can't be created: TypeError\("):
        play([Own, First], "nim")


def test_a_class_without_a_choose_is_refused_before_anything_is_played() -> None:
    class Mute(Bot):
        pass

    with pytest.raises(UsageFault, match=r"^Mute has no method choose: write def choose"):
        play([Mute, First], "nim")


def test_a_bot_that_can_not_warm_up_is_refused_in_a_line() -> None:
    class Cold(First):
        def warm_up(self, game: object) -> None:
            raise FileNotFoundError("no table")

    with pytest.raises(UsageFault, match=r"cold: its warm_up failed for nim: FileNotFoundError\('no table'\)"):
        play([Cold, First], "nim")
