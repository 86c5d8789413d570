/** Borders, and what seats hold. Pure. */

/** Return whether two territories of a map have a border. */
export function isBorder({ borders }, a, b) {
  return borders.some(([one, other]) => (one === a && other === b) || (one === b && other === a));
}

/** Return the numbers of territories and of units that a seat holds. */
export function holding({ owner, troops }, seat) {
  const held = troops.filter((_, at) => owner[at] === seat);
  return [held.length, held.reduce((sum, units) => sum + units, 0)];
}
