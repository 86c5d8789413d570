/** Numbers, times, lists, reasons and sentences as people write them. */

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const ALL = new Intl.ListFormat("en-GB", { type: "conjunction" });
const ONE = new Intl.ListFormat("en-GB", { type: "disjunction" });

/**
 * A number of things: "1 move", "2 moves".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * All of some things: "ann, bob and cas".
 * @param {string[]} things
 */
export function listed(things) {
  return ALL.format(things);
}

/**
 * One of some things: "1, 2 or 3".
 * @param {(string | number)[]} things
 */
export function either(things) {
  return ONE.format(things.map(String));
}

/**
 * The first letter capital, a full stop behind.
 * @param {string} text
 */
export function sentence(text) {
  return text === "" ? "" : `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/**
 * What a move was worth, as pages say all values: a share of the point, in which a win is "100.0 %" and a draw "50.0 %".
 * @param {number} value expected result as the API has it: a win is 1, a draw 0, a loss −1
 * @param {string} [unit] what it is in instead, as in "+1.17 chips"
 */
export function worthText(value, unit) {
  return unit ? `${signed(value)} ${unit}` : share((1 + value) / 2);
}

/**
 * What a move gave away on that scale: "12.0 %".
 * @param {number} lost difference of two expected results as the API has them, 0 to 2
 * @param {string} [unit] what it is in instead, as in "0.40 chips"
 */
export function lossText(lost, unit) {
  if (unit) return lost > 0 && lost < 0.005 ? `under 0.01 ${unit}` : `${lost.toFixed(2)} ${unit}`;
  return lost > 0 && lost < 0.001 ? "under 0.1\u00a0%" : share(lost / 2);
}

/**
 * What dice gave on that scale, with its sign: "+3.4 %", "−1.2 %".
 * @param {number} points as the API has luck: a win is 1, a loss 0
 * @param {string} [unit] what it is in instead: then the number alone, "+1.61"
 */
export function luckText(points, unit) {
  if (unit) return signed(points);
  return points >= 0.0005 ? `+${share(points)}` : share(points);
}

/** "+1.17", "−0.40", and "0.00" for nothing. */
function signed(number) {
  const text = number.toFixed(2);
  if (!Number(text)) return "0.00";
  return number > 0 ? `+${text}` : text.replace("-", "−");
}

/** In percent, and nothing less than nothing. */
function share(part) {
  const text = (100 * part).toFixed(1);
  return `${Number(text) ? text.replace("-", "−") : "0.0"}\u00a0%`;
}

/**
 * Why a seat or a match ended.
 * @param {string} reason of the protocol
 */
export function reasonInWords(reason) {
  return reason.replaceAll("_", " ");
}

/**
 * How many milliseconds, as a clock shows them: "1:05", below 20 s "9.4 s".
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
 * A duration in words: "3 ms", "0.42 s", "12 s".
 * @param {number} ms
 */
export function durationText(ms) {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

/**
 * What a bot says of its position: the numbers of searches that have won are as large as can be.
 * @param {number | undefined} value
 */
export function valueText(value) {
  return value === undefined || value === null ? "" : String(Number(value.toPrecision(5)));
}

/**
 * The same in a few characters: "562K".
 * @param {number | undefined} value
 */
export function shortValue(value) {
  return value === undefined || value === null ? "" : SHORT.format(value);
}
