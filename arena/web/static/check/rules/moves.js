// What the rules of several games share here: how a move is refused, places and borders, who holds what, who has won.

/** A move that the rules do not allow; its message says what would be. */
export class Illegal extends Error {}

/** @param {unknown} holds @param {string} otherwise @throws {Illegal} */
export function demand(holds, otherwise) {
  if (!holds) throw new Illegal(otherwise);
}

/** Whether `value` is a place in a list of `count`. */
export function isPlace(value, count) {
  return Number.isSafeInteger(value) && 0 <= value && value < count;
}

/** The keys of a move have to be these. */
export function demandFields(move, ...fields) {
  const same = Object.keys(move ?? {}).sort().join() === [...fields].sort().join();
  demand(same, `such a move has the fields ${fields.join(", ")}`);
}

/** Whether two territories of a map have a border. */
export function isBorder({ borders }, a, b) {
  return borders.some(([one, other]) => (one === a && other === b) || (one === b && other === a));
}

/** How many territories a seat holds, and how many units on them. */
export function holding({ owner, troops }, seat) {
  const held = troops.filter((_, at) => owner[at] === seat);
  return [held.length, held.reduce((sum, units) => sum + units, 0)];
}

/** `list` with `value` in one place. */
export function replaced(list, at, value) {
  return list.map((old, i) => (i === at ? value : old));
}

/** The ranks of two seats, one of which won. */
export function wonBy(seat) {
  return seat === 0 ? [1, 2] : [2, 1];
}

/** The ranks of two seats of which who has more is ahead. */
export function ranksOf([one, two]) {
  return [one < two ? 2 : 1, two < one ? 2 : 1];
}
