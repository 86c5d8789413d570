/** What a person is told of a match: how it ended and why, time, a config. Pure. */

import { reasonInWords, sentence } from "../format.js";

const THEIRS = {
  resigned: (bot) => `${bot} resigned`,
  timeout: (bot) => `${bot} used up its time`,
  disconnected: (bot) => `${bot} disconnected and did not return in time`,
  illegal: (bot) => `${bot} made its third illegal move`,
  no_show: (bot) => `${bot} did not come to the match`,
  failed: (bot) => `the program of ${bot} failed`,
};
const YOURS = {
  resigned: "you resigned",
  timeout: "your time ran out",
  disconnected: "you were disconnected and did not return in time",
  illegal: "that was your third illegal move",
  no_show: "you were not ready in time",
};
const TOGETHER = {
  win: "the match was played out",
  draw: "the match was played out",
  ply_limit: "the match was as long as a match may be",
  round_limit: "the last round was played",
  void: "the arena called it off",
};

/**
 * How a match ended for a seat.
 * @param {{ranks: number[], reason: string, seats: {bot: string, rank: number, reason: string}[]}} end
 * @param {number} seat
 * @returns {{headline: string, why: string}}
 */
export function result(end, seat) {
  const rank = end.ranks[seat];
  const best = end.ranks.filter((other) => other === 1).length;
  return { headline: headline(end, seat, rank, best), why: sentence(why(end, seat)) };
}

function headline(end, seat, rank, best) {
  if (end.reason === "void") return "The match is void";
  if (rank === 1)
    return best === 1
      ? "You won"
      : best === end.ranks.length
        ? "A draw"
        : `You share the first place with ${best - 1} more`;
  if (end.ranks.length === 2) return "You lost";
  if (end.seed === undefined) return "You are out"; // the others play on: their places are not known yet
  return `You came ${ordinal(rank)} of ${end.ranks.length}`;
}

function why(end, seat) {
  const mine = end.seats[seat].reason;
  if (mine in YOURS) return YOURS[mine];
  const failed = end.seats.filter((other, at) => at !== seat && other.reason in THEIRS);
  if (failed.length > 0) return failed.map(({ bot, reason }) => THEIRS[reason](bot)).join("; ");
  return TOGETHER[end.reason] ?? reasonInWords(end.reason);
}

/**
 * Why a seat's match ended so, for a table of all seats.
 * @param {string} reason
 */
export function inShort(reason) {
  return { win: "", draw: "" }[reason] ?? reasonInWords(reason);
}

/**
 * 1st, 2nd, 3rd, 4th.
 * @param {number} number
 */
export function ordinal(number) {
  const ending = { one: "st", two: "nd", few: "rd", other: "th" };
  return `${number}${ending[new Intl.PluralRules("en", { type: "ordinal" }).select(number)]}`;
}

/**
 * A clock as one says it: "10 min + 10 s a move".
 * @param {{bank_ms: number, increment_ms: number}} clock
 */
export function clockInWords({ bank_ms: bank, increment_ms: increment }) {
  return increment === 0 ? `${timeInWords(bank)} for all moves` : `${timeInWords(bank)} + ${timeInWords(increment)} a move`;
}

function timeInWords(ms) {
  const minutes = Math.floor(ms / 60_000);
  const seconds = (ms % 60_000) / 1000;
  return [minutes && `${minutes} min`, (seconds || !minutes) && `${seconds} s`].filter(Boolean).join(" ");
}

/**
 * A config in a few words: keys with values; a map by its name.
 * @param {Record<string, unknown>} config
 */
export function configInWords(config) {
  return Object.entries(config)
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${valueInWords(value)}`)
    .join("; ");
}

function valueInWords(value) {
  if (value === null) return "any";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? (value.name ?? "own") : String(value);
}
