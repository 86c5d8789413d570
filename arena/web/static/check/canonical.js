// Canonical JSON as defined in docs/protocol.md under "Digest": the bytes that are hashed.

/**
 * Encode a value with keys sorted by code point, without spaces, and without optional escapes.
 * @param {unknown} value null, booleans, whole numbers, strings, arrays and plain objects only
 * @returns {string}
 * @throws {RangeError} for a number that is no safe integer, which has no canonical form here
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    return `{${keys.sort(byCodePoint).map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is not an integer within 2^53`);
  }
  return JSON.stringify(value);
}

/** Compare strings by code point; `sort` compares UTF-16, which puts characters beyond U+FFFF before U+E000. */
function byCodePoint(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((character, i) => character !== right[i]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? left[at].codePointAt(0) - right[at].codePointAt(0) : 1;
}
