/** The lines of tic-tac-toe. Pure. */

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

/**
 * Return the three cells in a row that one seat has.
 * @param {number[]} cells
 * @returns {number[] | undefined}
 */
export function threeIn(cells) {
  return LINES.find(([a, b, c]) => cells[a] && cells[a] === cells[b] && cells[a] === cells[c]);
}
