// Verifies a match in the browser: referees it again, step by step, from its seed, nonces and rules. It checks what
// `arena replay verify` does, except for ratings.

import { canonical } from "./canonical.js";
import { Course } from "./replay.js";
import { fromHex, hmac, join, sha256, toHex, utf8 } from "./hash.js";
import { loadRules } from "./rules.js";
import { short, step } from "./step-text.js";

const UNSEEN =
  "Times, the bots' notes on their thinking, and ratings are not checked here: `arena replay verify` computes the ratings.";

/**
 * @typedef {object} Step a result of the verification
 * @property {number | null} index the index in `document.plies`; null for the header and the footer
 * @property {number | null} ply
 * @property {"seed" | "key" | "opening" | "deal" | "sealed" | "move" | "dice" | "result" | "out" | "strikes" | "given" |
 *   "turn" | "state" | "digest" | "end" | "payoffs" | "scope"} what
 * @property {boolean | null} ok null for a remark that is neither right nor wrong
 * @property {string} text a sentence; for an error, with the correct value
 * @property {object} [detail]
 */

/**
 * Referee a match again. Stops after the first wrong event, because later ones can't be judged.
 * @param {{header: object, start: object, plies: object[], strikes: object[], sealed?: object[], footer?: object}} document
 *   in the form of the API
 * @yields {Step}
 */
export async function* check(document) {
  const { header, plies, footer } = document;
  if (!footer) {
    yield step("scope", null, "The match is not over: the seed of its dice is revealed when it ends.");
    return;
  }
  const seed = await checkSeed(header, footer);
  yield seed;
  if (!seed.ok) return;
  const key = await matchKey(header, footer);
  yield step("key", true, `The key of all dice is K = ${short(toHex(key))}, made from the seed and the seats' nonces.`, {
    hex: toHex(key),
  });
  const opening = await openingOf(header, footer);
  yield step("opening", true, `The chain begins with D(0) = ${short(toHex(opening.digest))}.`, opening.detail);
  const course = new Course(document, await hmac(key), opening.digest, await loadRules(header));
  for await (const found of guarded(course.begin())) {
    yield found;
    if (found.ok === false) return;
  }
  for (const [index, line] of plies.entries()) {
    let right = true;
    for await (const found of guarded(course.enter(line))) {
      yield { ...found, index, ply: line.event.ply };
      right &&= found.ok !== false;
    }
    if (!right) return;
  }
  yield* guarded(course.end());
  yield step("scope", null, UNSEEN);
}

/** Report exceptions that a damaged document causes in this code as errors of the document. */
async function* guarded(steps) {
  try {
    yield* steps;
  } catch (error) {
    yield step("move", false, `A record cannot contain this: ${error.message}.`);
  }
}

async function checkSeed({ match, commitment }, { seed }) {
  const is = toHex(await sha256(join(utf8("bot-arena/1/commit"), utf8(match), fromHex(seed))));
  const ok = is === commitment;
  const text = ok
    ? `The seed is the one that was committed to before the match: its SHA-256 is ${short(is)}.`
    : `The seed is not the one that was committed to: the commitment is ${short(commitment)}, the hash of this seed is ${short(is)}.`;
  return step("seed", ok, text, { should: commitment, is });
}

async function matchKey({ match }, { seed, nonces }) {
  const mixed = nonces.map(fromHex).map((nonce) => join(Uint8Array.of(nonce.length), nonce));
  return (await hmac(fromHex(seed)))(join(utf8("bot-arena/1/key"), utf8(match), ...mixed));
}

async function openingOf({ match, game, config, seats, commitment, rules }, { nonces }) {
  const names = seats.map((seat) => seat.bot);
  const text = canonical({ match, game, config, seats: names, commitment, nonces, rules });
  const digest = await sha256(join(utf8("bot-arena/1/digest"), utf8(text)));
  return { digest, detail: { canonical: text, is: toHex(digest) } };
}
