/** Describes the clock and config of a match. Pure. */

import { numberText } from "../format.js";

const MAX_DESCRIBED_CELLS = 4; // maximum cells of a matrix that is described in words

/**
 * Describe a clock: "10 min + 10 s a move".
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
 * Describe a config: keys with values, a map by its name, a small matrix by its cells.
 * @param {Record<string, unknown>} config
 */
export function configInWords({ payoffs, choices, go_on: goesOn, ...more }) {
  const words = Object.entries(more).map(([key, value]) => `${key.replaceAll("_", " ")} ${valueInWords(value)}`);
  const chance = goesOn ? [`another round follows with a chance of ${goesOn}`] : [];
  const cells = payoffs && choices ? cellsInWords(payoffs, choices) : [];
  return [...(cells.length > MAX_DESCRIBED_CELLS ? [] : cells), ...words, ...chance].join("; ");
}

/** Return "cooperate – defect 0 : 5" for every cell of a matrix. */
function cellsInWords(payoffs, [mine, theirs]) {
  const cells = payoffs.flatMap((row, one) => row.map((pair, other) => [mine[one], theirs[other], pair]));
  return cells.map(([one, other, pair]) => `${one} – ${other}\u00a0${pair.map(numberText).join("\u00a0:\u00a0")}`);
}

function valueInWords(value) {
  if (value === null) return "any";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? (value.name ?? "own") : String(value);
}
