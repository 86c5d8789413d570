"""The messages of the largest maps fit the limits of both encodings, on the way in and on the way out."""

from __future__ import annotations

import pytest

from protocol.codec import JSON, MSGPACK, Codec
from protocol.games import load_game
from protocol.messages import Clock, Player, Seek, Start


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
@pytest.mark.parametrize("name", ["world", "grid-10x10"])
def test_a_start_and_a_seek_carry_a_whole_map(encoding: Codec, name: str) -> None:
    config = load_game("risk-campaign", {"map": name, "players": 6}).config
    start = Start(
        match="m-1",
        game="risk-campaign",
        config=config,
        seat=5,
        seats=[Player(bot="x" * 32, version="y" * 64)] * 6,
        clock=Clock(bank_ms=1, increment_ms=1),
        commitment="0" * 64,
        rated=True,
    )
    received = encoding.decode_server(encoding.encode(start))
    assert isinstance(received, Start)
    assert load_game("risk-campaign", received.config).config == config
    seek = encoding.decode_client(encoding.encode(Seek(id="s1", game="risk-campaign", config=config)))
    assert isinstance(seek, Seek)
    assert load_game("risk-campaign", seek.config).config == config
