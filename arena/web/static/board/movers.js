/** Who moves, of what a state or a turn says as `to_move`: a seat, several at once, chance, or nobody any more. Pure. */

/**
 * The seats that are to move; none where something is dealt, or all is over.
 * @param {number | number[] | null | undefined} toMove
 * @returns {number[]}
 */
export function moversOf(toMove) {
  if (Array.isArray(toMove)) return toMove;
  return Number.isInteger(toMove) && toMove >= 0 ? [toMove] : [];
}
