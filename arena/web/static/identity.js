/** The names and tokens of the people at this browser, in the storage of this origin. */

const KEY = "arena.identity";
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
/** Latin letters that are not made of a plain one and marks. */
export const PLAIN_LETTERS = {
  ß: "ss", ẞ: "SS", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o", Ø: "O", ł: "l", Ł: "L", đ: "d", Đ: "D",
  ð: "d", Ð: "D", þ: "th", Þ: "Th", ı: "i", ħ: "h", Ħ: "H", ŧ: "t", Ŧ: "T",
};
const TOKEN_BYTES = 24;
const [MIN_TOKEN, MAX_TOKEN] = [16, 128]; // characters
const MAX_DISPLAY = 48; // characters of a display name
const UNSHOWN = /\p{C}|\p{M}{5}/u;
const UNSEEN_AROUND = /^[\s\p{C}]+|[\s\p{C}]+$/gu;

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
  return bot === null ? null : { bot, token: claims[folded(bot)] ?? tokens[folded(bot)] };
}

/**
 * Use a name from now on.
 * @param {string} bot
 * @param {string} [given]  its token, where somebody typed it
 * @returns {Identity}
 */
export function useName(bot, given = "") {
  const token = given === "" ? claim(bot) : claimBy(bot, given);
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

/** Claim a name by the token that somebody typed, also in place of one that this browser keeps. */
function claimBy(bot, token) {
  const { claims, ...known } = read();
  write({ ...known, claims: { ...claims, [folded(bot)]: token } });
  return token;
}

/**
 * Note that the arena accepted the token of a name.
 * @param {string} bot
 */
export function markAccepted(bot) {
  const { claims, tokens, ...known } = read();
  const { [folded(bot)]: token, ...others } = claims;
  if (token !== undefined) write({ ...known, tokens: { ...tokens, [folded(bot)]: token }, claims: others });
}

/**
 * Keep a token that the arena accepted for a name, without using the name here.
 * @param {string} bot
 * @param {string} token
 */
export function keepToken(bot, token) {
  const known = read();
  write({ ...known, tokens: { ...known.tokens, [folded(bot)]: token } });
}

/**
 * Note that the arena refused a name: drop its claim, but no token that was ever accepted.
 * @param {string} bot
 */
export function dropClaim(bot) {
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

/**
 * Keep nothing of a name any more: who uses this browser next can't play under it.
 * @param {string} bot
 */
export function forget(bot) {
  const known = read();
  const { [folded(bot)]: _, ...tokens } = known.tokens;
  const { [folded(bot)]: __, ...claims } = known.claims;
  write({ bot: null, tokens, claims });
}

/**
 * A token as somebody pasted it, without what is not seen around it.
 * @param {string} text
 */
export function readToken(text) {
  return text.replace(UNSEEN_AROUND, "");
}

/**
 * What is wrong with a token, in a sentence; empty if nothing is.
 * @param {string} token
 */
export function wrongWithToken(token) {
  const length = [...token].length;
  if (length >= MIN_TOKEN && length <= MAX_TOKEN) return "";
  return `A token has ${MIN_TOKEN} to ${MAX_TOKEN} characters: this one has ${length}.`;
}

/** Go by no name any more. The tokens are kept: whoever comes back to a name needs its token. */
export function clearName() {
  write({ ...read(), bot: null });
}

/**
 * Return the error of a name as a sentence; empty if it is valid.
 * @param {string} bot
 */
export function nameError(bot) {
  if (bot === "") return "Enter the name under which you play.";
  if (NAME.test(bot)) return "";
  const close = near(bot);
  const rule =
    "A name has 1 to 32 letters from A to Z, digits, and . _ - but no spaces, and starts with a letter or digit";
  return close === "" ? `${rule}.` : `${rule}: ${close}, for instance.`;
}

/**
 * Return whether another person owns the name.
 * @param {string} [code] of the `error` that refused it
 */
export function isTaken(code) {
  return code === "auth_failed" || code === "name_taken";
}

/**
 * What a person is called who typed something that is no name for a bot: the nearest that is one, and beside it what they
 * typed; null where there is none.
 * @param {string} typed
 * @returns {{bot: string, display: string} | null}
 */
export function proposed(typed) {
  const display = typed.normalize("NFC").trim().replace(/\s+/g, " ");
  const bot = near(typed);
  const fits = [...display].length <= MAX_DISPLAY && !UNSHOWN.test(display);
  return NAME.test(typed) || !NAME.test(bot) || !fits ? null : { bot, display };
}

/** A secret that nobody can guess. */
function newToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/**
 * The name that comes nearest to what somebody typed; may be empty.
 * @param {string} text
 */
export function near(text) {
  const letters = [...text].map((letter) => PLAIN_LETTERS[letter] ?? letter).join("");
  const plain = letters.normalize("NFKD").replace(/\p{M}/gu, "").trim().replace(/\s+/g, "-");
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
