/** Formats numbers, times, lists, reasons and sentences. */

const COMPACT_FORMAT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const AND_LIST_FORMAT = new Intl.ListFormat("en-GB", { type: "conjunction" });
const OR_LIST_FORMAT = new Intl.ListFormat("en-GB", { type: "disjunction" });

/**
 * Format a number with its noun: "1 move", "2 moves".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * Join things by "and": "ann, bob and cas".
 * @param {string[]} things
 */
export function listed(things) {
  return AND_LIST_FORMAT.format(things);
}

/**
 * Join things by "or": "1, 2 or 3".
 * @param {(string | number)[]} things
 */
export function either(things) {
  return OR_LIST_FORMAT.format(things.map(String));
}

/**
 * Return a text with a capital letter and a full stop.
 * @param {string} text
 */
export function sentence(text) {
  return text === "" ? "" : `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/**
 * Format the value of a move as a score: "100.0 %" for a win and "50.0 %" for a draw.
 * @param {number} value expected result in the API: 1 for a win, 0 for a draw, −1 for a loss
 * @param {string} [unit] the unit of `value`, if it is no expected result, as in "+1.17 chips"
 */
export function worthText(value, unit) {
  return unit ? `${signed(value)} ${unit}` : share((1 + value) / 2);
}

/**
 * Format what a move gave away, as a score: "12.0 %".
 * @param {number} lost the difference of two expected results of the API, 0 to 2
 * @param {string} [unit] the unit of `lost`, if it is no expected result, as in "0.40 chips"
 */
export function lossText(lost, unit) {
  if (unit) return lost > 0 && lost < 0.005 ? `under 0.01 ${unit}` : `${lost.toFixed(2)} ${unit}`;
  return lost > 0 && lost < 0.001 ? "under 0.1\u00a0%" : share(lost / 2);
}

/**
 * Format luck as a score with its sign: "+3.4 %", "−1.2 %".
 * @param {number} points luck in the API: 1 for a win, 0 for a loss
 * @param {string} [unit] the unit of `points`, if it is no score; the number is then shown alone, "+1.61"
 */
export function luckText(points, unit) {
  if (unit) return signed(points);
  return points >= 0.0005 ? `+${share(points)}` : share(points);
}

/** Format a number as "+1.17", "−0.40", or "0.00". */
function signed(number) {
  const text = number.toFixed(2);
  if (!Number(text)) return "0.00";
  return number > 0 ? `+${text}` : text.replace("-", "−");
}

/** Format a fraction in percent, without a negative zero. */
function share(part) {
  const text = (100 * part).toFixed(1);
  return `${Number(text) ? text.replace("-", "−") : "0.0"}\u00a0%`;
}

/**
 * Describe why a seat or a match ended.
 * @param {string} reason in the protocol
 */
export function reasonInWords(reason) {
  return reason.replaceAll("_", " ");
}

/**
 * Format milliseconds as a clock does: "1:05", or "9.4 s" below 20 s.
 * @param {number} ms
 */
export function clockText(ms) {
  const left = Math.max(0, ms);
  if (left < 20_000) return `${(Math.floor(left / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(left / 1000);
  const hours = Math.floor(seconds / 3600);
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, String(seconds % 60).padStart(2, "0")];
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/**
 * Describe a time control: "10 min + 10 s a move".
 * @param {{bank_ms: number, increment_ms: number}} clock
 */
export function timeControlText({ bank_ms: bank, increment_ms: increment }) {
  return increment === 0 ? `${minutesText(bank)} for all moves` : `${minutesText(bank)} + ${minutesText(increment)} a move`;
}

/** Format milliseconds in minutes and seconds: "1 min 30 s". */
function minutesText(ms) {
  const minutes = Math.floor(ms / 60_000);
  const seconds = (ms % 60_000) / 1000;
  return [minutes && `${minutes} min`, (seconds || !minutes) && `${seconds} s`].filter(Boolean).join(" ");
}

/**
 * Format a duration: "3 ms", "0.42 s", "12 s".
 * @param {number} ms
 */
export function durationText(ms) {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

/**
 * Format a bot's evaluation of a position. Searches that have found a win report very large numbers.
 * @param {number | undefined} value
 */
export function valueText(value) {
  return value === undefined || value === null ? "" : String(Number(value.toPrecision(5)));
}

/**
 * Format a bot's evaluation in a few characters: "562K".
 * @param {number | undefined} value
 */
export function shortValue(value) {
  return value === undefined || value === null ? "" : COMPACT_FORMAT.format(value);
}

/**
 * Format a number with at most two decimals and a true minus sign.
 * @param {number} number
 */
export function numberText(number) {
  return number.toLocaleString("en", { maximumFractionDigits: 2 }).replace("-", "−");
}

/**
 * Format a number with its sign: "+2", "−2", "0".
 * @param {number} number
 */
export function signedText(number) {
  return number > 0 ? `+${numberText(number)}` : numberText(number);
}

/**
 * Return a seat with its verb: "ann has", "you have".
 * @param {{bots: string[], you?: number}} match the names by seat, and a person's seat
 * @param {number} seat
 * @param {string} verb
 * @param {string} yours the verb for the person
 */
export function seatWithVerb({ bots, you }, seat, verb, yours) {
  return seat === you ? `you ${yours}` : `${bots[seat]} ${verb}`;
}
