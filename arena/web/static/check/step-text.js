// Steps of the check in words.

import { canonical } from "./canonical.js";

/** A step of the whole match; that of an event gets its place and ply where the event is known. */
export function step(what, ok, text, detail) {
  return { index: null, ply: null, what, ok, text, detail };
}

/** The beginning of a long hexadecimal number; what stands in its place where it is none. */
export function short(hex) {
  if (typeof hex !== "string") return shown(hex);
  return hex.length > 16 ? `${hex.slice(0, 16)}…` : hex;
}

const LONGEST = 160;

/** A value as JSON, or as much of it as a line has room for. */
export function shown(value) {
  const text = value === undefined ? "nothing" : canonical(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** What two values have that is different, in a few words: the first field, or place, in which they differ. */
export function difference(should, is) {
  if (isMap(should) && isMap(is)) {
    const key = Object.keys({ ...should, ...is }).find((name) => !same(should[name], is[name]));
    return `${key} should be ${shown(should[key])}, the record says ${shown(is[key])}`;
  }
  return `it should be ${shown(should)}, the record says ${shown(is)}`;
}

/** Whether two values are written the same. */
export function same(a, b) {
  return a === undefined || b === undefined ? a === b : canonical(a) === canonical(b);
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
