// JSON in its one canonical spelling, as docs/protocol.md has it under "Digest": what is hashed.

/**
 * Keys sorted by code point, no spaces, no escapes that JSON does not demand.
 * @param {unknown} value nothing but null, booleans, whole numbers, strings, arrays and plain objects
 * @returns {string}
 * @throws {RangeError} for a number that is no safe integer: it has no single spelling here
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    return `{${keys.sort(byCodePoint).map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is no integer within 2^53`);
  }
  return JSON.stringify(value);
}

/** Sorting by UTF-16, as `sort` does by itself, puts what is beyond U+FFFF before U+E000. */
function byCodePoint(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((character, i) => character !== right[i]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? left[at].codePointAt(0) - right[at].codePointAt(0) : 1;
}
