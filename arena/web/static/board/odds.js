/** Formats the chances of moves. Pure. */

/**
 * Format a probability like "42 %"; only certain outcomes become 0 % or 100 %.
 * @param {number} chance 0 to 1
 */
export function chanceText(chance) {
  const percent = Math.round(100 * chance);
  if (percent === 0 && chance > 0) return "under 1 %";
  if (percent === 100 && chance < 1) return "over 99 %";
  return `${percent} %`;
}

/**
 * Append a chance, if there is one, to the words of an option: "Attack Brazil · 42 %".
 * @param {string} words
 * @param {number | null} chance
 */
export function withChance(words, chance) {
  return chance === null ? words : `${words} · ${chanceText(chance)}`;
}
