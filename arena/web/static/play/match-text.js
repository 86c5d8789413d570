/** What a person is told before a match: its clock, a config. Pure. */

/**
 * A clock as one says it: "10 min + 10 s a move".
 * @param {{bank_ms: number, increment_ms: number}} clock
 */
export function clockInWords({ bank_ms: bank, increment_ms: increment }) {
  return increment === 0 ? `${timeInWords(bank)} for all moves` : `${timeInWords(bank)} + ${timeInWords(increment)} a move`;
}

function timeInWords(ms) {
  const minutes = Math.floor(ms / 60_000);
  const seconds = (ms % 60_000) / 1000;
  return [minutes && `${minutes} min`, (seconds || !minutes) && `${seconds} s`].filter(Boolean).join(" ");
}

/**
 * A config in a few words: keys with values; a map by its name.
 * @param {Record<string, unknown>} config
 */
export function configInWords(config) {
  return Object.entries(config)
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${valueInWords(value)}`)
    .join("; ");
}

function valueInWords(value) {
  if (value === null) return "any";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? (value.name ?? "own") : String(value);
}
