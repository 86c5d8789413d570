"""Every message of the protocol, drawn by Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from protocol.messages import (
    Clock,
    End,
    Error,
    Event,
    FromClient,
    FromServer,
    Hello,
    Limits,
    List,
    ListedBot,
    ListedMatch,
    ListedSeek,
    Listing,
    Move,
    Outcome,
    Player,
    Ready,
    Rejected,
    Resign,
    Seek,
    Start,
    Turn,
    Unseek,
    Unseeked,
    Unwatch,
    Warming,
    Watch,
    Welcome,
)

names = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z")
matches = st.from_regex(r"\A[a-z0-9-]{1,40}\Z")
nonces = st.from_regex(r"\A[0-9a-f]{32}\Z")
digests = st.from_regex(r"\A[0-9a-f]{64}\Z")
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
labels = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=20)
numbers = st.integers(-(2**63), 2**64 - 1)
counts = st.integers(0, 2**32)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | floats | words
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
maps = st.dictionaries(words, values, max_size=3)
events = st.builds(
    Event,
    ply=counts,
    seat=st.integers(-1, 5),
    move=st.none() | maps,
    dice=st.none() | st.lists(st.lists(st.integers(1, 6), max_size=3), max_size=3),
    result=st.none() | maps,
    out=st.none() | words,
)
players = st.builds(Player, bot=names, version=words, mu=st.none() | floats, sigma=st.none() | floats)

FROM_CLIENT: dict[type[FromClient], st.SearchStrategy[Any]] = {
    Hello: st.builds(
        Hello,
        bot=st.none() | names,
        token=st.none() | st.text("abc123", min_size=16, max_size=128),
        version=labels,
        client=labels,
        slots=st.integers(1, 64),
        follow=st.booleans(),
    ),
    Seek: st.builds(
        Seek,
        id=st.text("abc", min_size=1, max_size=64),
        game=words,
        config=maps,
        rated=st.booleans(),
        opponent=st.none() | names,
        opponents=st.lists(names, max_size=5),
        open=st.booleans(),
        slow=st.booleans(),
    ),
    Unseek: st.builds(Unseek, id=st.text("abc", min_size=1, max_size=64)),
    Warming: st.builds(Warming, games=st.lists(words, max_size=3)),
    Ready: st.builds(Ready, match=matches, nonce=st.none() | nonces),
    Move: st.builds(Move, match=matches, ply=counts, move=values, info=values),
    Resign: st.builds(Resign, match=matches),
    Watch: st.builds(Watch, match=matches | st.just("*")),
    Unwatch: st.builds(Unwatch, match=matches | st.just("*")),
    List: st.builds(List),
}
FROM_SERVER: dict[type[FromServer], st.SearchStrategy[Any]] = {
    Welcome: st.builds(
        Welcome,
        bot=st.none() | names,
        token=st.none() | words,
        games=st.lists(words, max_size=3),
        limits=st.builds(Limits, max_message=counts, strikes=counts, slots=counts),
        resumed=st.lists(matches, max_size=3),
    ),
    Unseeked: st.builds(Unseeked, id=words),
    Start: st.builds(
        Start,
        match=matches,
        seek=st.none() | words,
        game=words,
        config=maps,
        seat=st.none() | counts,
        seats=st.lists(players, max_size=3),
        clock=st.builds(Clock, bank_ms=counts, increment_ms=counts),
        commitment=digests,
        rated=st.booleans(),
        resumed=st.booleans(),
    ),
    Turn: st.builds(
        Turn,
        match=matches,
        ply=counts,
        to_move=counts,
        state=maps,
        events=st.lists(events, max_size=3),
        clock=st.lists(counts, max_size=3),
        legal=st.none() | st.lists(maps, max_size=3),
        options=st.none() | maps,
        digest=digests,
        nonces=st.none() | st.lists(nonces, max_size=3),
    ),
    Rejected: st.builds(
        Rejected,
        match=matches,
        ply=counts,
        code=words,
        message=words,
        strikes_left=st.none() | counts,
        clock_ms=st.none() | counts,
    ),
    End: st.builds(
        End,
        match=matches,
        ply=counts,
        events=st.lists(events, max_size=3),
        state=maps,
        digest=digests,
        ranks=st.lists(counts, max_size=3),
        reason=words,
        seats=st.lists(
            st.builds(Outcome, bot=names, rank=counts, reason=words, mu_after=st.none() | floats), max_size=3
        ),
        seed=st.none() | digests,
        nonces=st.lists(nonces, max_size=3),
        record=words,
    ),
    Listing: st.builds(
        Listing,
        bots=st.lists(st.builds(ListedBot, bot=names, seeks=st.lists(st.builds(ListedSeek, game=words))), max_size=3),
        matches=st.lists(
            st.builds(
                ListedMatch,
                match=matches,
                game=words,
                seats=st.lists(names),
                ply=counts,
                started=words,
                rated=st.booleans(),
                watchers=counts,
            ),
            max_size=3,
        ),
        more_bots=counts,
        more_matches=counts,
    ),
    Error: st.builds(Error, code=words, message=words, ref=st.none() | words, fatal=st.booleans()),
}
