"""A tiny engine that speaks UCI: it plays the first capture of a position, or else the first move."""

from __future__ import annotations

import sys

import chess

board = chess.Board()
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print("id name Tiny 1\nuciok", flush=True)
    elif words[:1] == ["isready"]:
        print("readyok", flush=True)
    elif words[:2] == ["position", "fen"]:
        board = chess.Board(" ".join(words[2:8]))
        for move in words[9:]:
            board.push_uci(move)
    elif words[:1] == ["go"]:
        moves = sorted(board.legal_moves, key=lambda move: (not board.is_capture(move), move.uci()))
        print(f"info depth 1 score cp 25 nodes {len(moves)} pv {moves[0].uci()}")
        print(f"bestmove {moves[0].uci()}", flush=True)
