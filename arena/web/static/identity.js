/** The names and tokens of the people at this browser, in the storage of this origin. */

const KEY = "arena.identity";
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
const TOKEN_BYTES = 24;

/**
 * @typedef {object} Identity
 * @property {string} bot the name
 * @property {string} token
 */

/**
 * Return the name that was used last, with its token.
 * @returns {Identity | null}
 */
export function identity() {
  const { bot, tokens, claims } = read();
  return bot === null ? null : { bot, token: tokens[folded(bot)] ?? claims[folded(bot)] };
}

/**
 * Use a name from now on.
 * @param {string} bot
 * @returns {Identity}
 */
export function goBy(bot) {
  const token = claim(bot);
  write({ ...read(), bot });
  return { bot, token };
}

/**
 * Return the token of a name. A new name gets a token, which is stored as a claim before it is sent, until the arena
 * accepts it.
 * @param {string} bot
 * @returns {string}
 */
export function claim(bot) {
  const { claims, ...known } = read();
  const token = known.tokens[folded(bot)] ?? claims[folded(bot)] ?? newToken();
  if (!(folded(bot) in known.tokens)) write({ ...known, claims: { ...claims, [folded(bot)]: token } });
  return token;
}

/**
 * Note that the arena accepted the token of a name.
 * @param {string} bot
 */
export function accepted(bot) {
  const { claims, tokens, ...known } = read();
  const { [folded(bot)]: token, ...others } = claims;
  if (token !== undefined) write({ ...known, tokens: { ...tokens, [folded(bot)]: token }, claims: others });
}

/**
 * Note that the arena refused a name: drop its claim, but no token that was ever accepted.
 * @param {string} bot
 */
export function refused(bot) {
  const { [folded(bot)]: _, ...claims } = read().claims;
  write({ ...read(), claims });
}

/**
 * Return the accepted token of a name, if this browser has one.
 * @param {string} bot
 * @returns {string | undefined}
 */
export function tokenOf(bot) {
  return read().tokens[folded(bot)];
}

/** Use no name. Tokens are kept: who returns to a name needs its token. */
export function goByNone() {
  write({ ...read(), bot: null });
}

/**
 * Return the error of a name as a sentence; empty if it is valid.
 * @param {string} bot
 */
export function wrongWith(bot) {
  if (bot === "") return "Say under which name you play.";
  if (NAME.test(bot)) return "";
  const close = near(bot);
  const rule =
    "A name has 1 to 32 letters from A to Z, digits, and . _ - but no spaces, and begins with a letter or digit";
  return close === "" ? `${rule}.` : `${rule}: ${close}, for instance.`;
}

/**
 * Return whether another person owns the name.
 * @param {string} [code] of the `error` that refused it
 */
export function isTaken(code) {
  return code === "auth_failed" || code === "name_taken";
}

/** Return a random secret. */
function newToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** Return the valid name closest to a text; it may be empty. */
function near(text) {
  const plain = text.normalize("NFKD").replaceAll("ß", "ss").replace(/\p{M}/gu, "").trim().replace(/\s+/g, "-");
  return plain
    .replace(/[^A-Za-z0-9._-]/g, "")
    .replace(/^[._-]+/, "")
    .slice(0, 32);
}

function folded(bot) {
  return bot.toLowerCase();
}

let unkept = null; // the data where the browser stores nothing, until the page is left

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null") ?? unkept;
    if (typeof kept?.tokens === "object") return { bot: kept.bot ?? null, tokens: { ...kept.tokens }, claims: { ...kept.claims } };
  } catch {
    if (unkept !== null) return unkept;
  }
  return { bot: null, tokens: {}, claims: {} };
}

function write(known) {
  unkept = known;
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
  } catch {
    // the browser stores nothing: the name lasts as long as the page
  }
}
