/** The rounds of a match, and short marks for choices. Pure. */

const MAX_MARK_CHARS = 2; // maximum characters of a mark

/**
 * Return the rounds that the events contain.
 * @param {object[]} events
 * @returns {{number: number, chosen: (number | null)[], played: number[], payoffs: number[]}[]} `chosen` is null if unknown
 */
export function playedIn(events) {
  return events
    .filter(({ moves, result }) => moves && result)
    .map(({ ply, moves, result }) => {
      const chosen = moves.map((move) => move?.choose ?? null);
      return { number: ply + 1, chosen, played: result.played ?? chosen, payoffs: result.payoffs };
    });
}

/**
 * Return short, distinct marks for names: their first letters, or numbers if these are not distinct.
 * @param {string[]} names
 * @returns {string[]}
 */
export function abbreviations(names) {
  for (let length = 1; length <= MAX_MARK_CHARS; length++) {
    const short = names.map((name) => name.slice(0, 1).toUpperCase() + name.slice(1, length));
    if (new Set(short.map((text) => text.toLowerCase())).size === names.length) return short;
  }
  return names.map((_, at) => String(at + 1));
}
