/** The rules of tic-tac-toe. */

import { threeIn } from "./lines.js";

export default ({ demand, demandFields, isPlace, replaced, wonBy }) => {
  function winner(cells) {
    const three = threeIn(cells);
    return three === undefined ? null : cells[three[0]] - 1;
  }

  function tictactoe() {
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

  return tictactoe;
};
