/** Who is to move, from `to_move` of states and turns: one seat, several, chance, or none after the end. Pure. */

/**
 * Return the seats to move; none at a chance node or after the end.
 * @param {number | number[] | null | undefined} toMove
 * @returns {number[]}
 */
export function moversOf(toMove) {
  if (Array.isArray(toMove)) return toMove;
  return Number.isInteger(toMove) && toMove >= 0 ? [toMove] : [];
}

/**
 * Return the seats that an event belongs to: one, all that moved in a round, or none for chance.
 * @param {{seat: number, moves?: object[]}} event
 * @returns {number[]}
 */
export function actorsOf({ seat, moves }) {
  if (moves) return [...moves.keys()];
  return seat < 0 ? [] : [seat];
}
