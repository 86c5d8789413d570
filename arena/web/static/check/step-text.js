// Formats the steps of a verification.

import { canonical } from "./canonical.js";

/** Return a step for the whole match; the caller adds an event's index and ply. */
export function step(what, ok, text, detail) {
  return { index: null, ply: null, what, ok, text, detail };
}

/** Return the beginning of a long hexadecimal number; any other value as `shown` formats it. */
export function short(hex) {
  if (typeof hex !== "string") return shown(hex);
  return hex.length > 16 ? `${hex.slice(0, 16)}…` : hex;
}

const MAX_VALUE_CHARS = 160;

/** Format a value as JSON, shortened to a line. */
export function shown(value) {
  const text = value === undefined ? "nothing" : canonical(value);
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text;
}

/** Describe the first difference of two values. */
export function difference(should, is) {
  if (isMap(should) && isMap(is)) {
    const key = Object.keys({ ...should, ...is }).find((name) => !same(should[name], is[name]));
    return `${key} should be ${shown(should[key])}, the record says ${shown(is[key])}`;
  }
  return `it should be ${shown(should)}, the record says ${shown(is)}`;
}

/** Return whether two values have the same canonical JSON. */
export function same(a, b) {
  return a === undefined || b === undefined ? a === b : canonical(a) === canonical(b);
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
