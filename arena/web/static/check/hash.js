// SHA-256 and HMAC-SHA256. They use Web Crypto, or our own code on pages over plain HTTP, where browsers don't offer
// it.

const ROUNDS = 64;
const BLOCK = 64;
const subtle = globalThis.crypto?.subtle;

/** Whether the browser computes the hashes (Web Crypto). */
export const byBrowser = subtle !== undefined;

/**
 * @param {...Uint8Array} parts
 * @returns {Uint8Array}
 */
export function join(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const encoder = new TextEncoder();

/** @param {string} string @returns {Uint8Array} its bytes in UTF-8 */
export function utf8(string) {
  return encoder.encode(string);
}

/** @param {Uint8Array} bytes @returns {string} */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} hex @returns {Uint8Array} */
export function fromHex(hex) {
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} 32 bytes */
export async function sha256(bytes) {
  return subtle ? new Uint8Array(await subtle.digest("SHA-256", bytes)) : digest(bytes);
}

/**
 * @param {Uint8Array} key
 * @returns {Promise<(message: Uint8Array) => Promise<Uint8Array>>} HMAC-SHA256 with this key
 */
export async function hmac(key) {
  if (subtle) {
    const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return async (message) => new Uint8Array(await subtle.sign("HMAC", imported, message));
  }
  const padded = new Uint8Array(BLOCK);
  padded.set(key.length > BLOCK ? digest(key) : key);
  const inner = padded.map((byte) => byte ^ 0x36);
  const outer = padded.map((byte) => byte ^ 0x5c);
  return async (message) => digest(join(outer, digest(join(inner, message))));
}

/** Return the first 32 bits of the fractional part of a root of each of the first primes (FIPS 180-4). */
function fractions(count, root) {
  const primes = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  return primes.map((prime) => ((root(prime) % 1) * 2 ** 32) | 0);
}

const START = fractions(8, Math.sqrt);
const CONSTANTS = fractions(ROUNDS, Math.cbrt);

function turned(word, by) {
  return (word >>> by) | (word << (32 - by));
}

function digest(bytes) {
  const padded = new Uint8Array(BLOCK * Math.ceil((bytes.length + 9) / BLOCK));
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(bytes.length));
  const hash = Int32Array.from(START);
  for (let at = 0; at < padded.length; at += BLOCK) compress(hash, view, at);
  const out = new DataView(new ArrayBuffer(32));
  hash.forEach((word, i) => out.setInt32(4 * i, word));
  return new Uint8Array(out.buffer);
}

function compress(hash, view, at) {
  const words = new Int32Array(ROUNDS);
  for (let i = 0; i < ROUNDS; i++) {
    if (i < 16) {
      words[i] = view.getInt32(at + 4 * i);
    } else {
      const [early, late] = [words[i - 15], words[i - 2]];
      const small = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      words[i] = words[i - 16] + small + words[i - 7] + (turned(late, 17) ^ turned(late, 19) ^ (late >>> 10));
    }
  }
  let [a, b, c, d, e, f, g, h] = hash;
  for (let i = 0; i < ROUNDS; i++) {
    const chosen = (e & f) ^ (~e & g);
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + CONSTANTS[i] + words[i]) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
}
