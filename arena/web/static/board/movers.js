/** Who moves: a seat, several at once, chance, or nobody any more, as states and turns say it in `to_move`. Pure. */

/**
 * The seats that are to move; none where something is dealt, or all is over.
 * @param {number | number[] | null | undefined} toMove
 * @returns {number[]}
 */
export function moversOf(toMove) {
  if (Array.isArray(toMove)) return toMove;
  return Number.isInteger(toMove) && toMove >= 0 ? [toMove] : [];
}

/**
 * The seats whose event it is: one, in a round all that moved, none where chance did something.
 * @param {{seat: number, moves?: object[]}} event
 * @returns {number[]}
 */
export function actorsOf({ seat, moves }) {
  if (moves) return [...moves.keys()];
  return seat < 0 ? [] : [seat];
}
