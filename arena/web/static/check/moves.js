// Helpers of the rules: refusing moves, places in lists, and ranks.

/** Thrown for a move that the rules do not allow; its message says what would be allowed. */
export class IllegalMove extends Error {}

/** @param {unknown} holds @param {string} otherwise @throws {IllegalMove} */
export function demand(holds, otherwise) {
  if (!holds) throw new IllegalMove(otherwise);
}

/** Return whether `value` is an index of a list of `count`. */
export function isPlace(value, count) {
  return Number.isSafeInteger(value) && 0 <= value && value < count;
}

/** Require that a move has exactly these fields. */
export function demandFields(move, ...fields) {
  const same = Object.keys(move ?? {}).sort().join() === [...fields].sort().join();
  demand(same, `this move must have the fields ${fields.join(", ")}`);
}

/** Return `list` with one element replaced by `value`. */
export function replaced(list, at, value) {
  return list.map((old, i) => (i === at ? value : old));
}

/** Return the ranks of two seats, one of which won. */
export function wonBy(seat) {
  return seat === 0 ? [1, 2] : [2, 1];
}

/** Return the ranks of two seats by their points. */
export function ranksOf([one, two]) {
  return [one < two ? 2 : 1, two < one ? 2 : 1];
}
