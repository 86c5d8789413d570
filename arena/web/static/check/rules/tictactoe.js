// The rules of tic-tac-toe.

import { demand, demandFields, isPlace, replaced, wonBy } from "./moves.js";

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

/**
 * Return the three cells in a row that one seat has.
 * @param {number[]} cells
 * @returns {number[] | undefined}
 */
export function threeIn(cells) {
  return LINES.find(([a, b, c]) => cells[a] && cells[a] === cells[b] && cells[a] === cells[c]);
}

function winner(cells) {
  const three = threeIn(cells);
  return three === undefined ? null : cells[three[0]] - 1;
}

export function tictactoe() {
  const state = (cells) => {
    const ply = cells.filter(Boolean).length;
    return { cells, to_move: winner(cells) !== null || ply === 9 ? null : ply % 2, ply };
  };

  return {
    seats: 2,
    async start() {
      return { state: state(new Array(9).fill(0)) };
    },
    async play({ cells, ply }, move) {
      demandFields(move, "cell");
      const { cell } = move;
      demand(isPlace(cell, 9), "cells are 0 to 8");
      demand(cells[cell] === 0, `cell ${cell} is taken`);
      return { state: state(replaced(cells, cell, (ply % 2) + 1)), event: { ply, seat: ply % 2, move: { cell } } };
    },
    ranks: ({ cells }) => (winner(cells) === null ? [1, 1] : wonBy(winner(cells))),
    reason: ({ cells }) => (winner(cells) === null ? "draw" : "win"),
  };
}
