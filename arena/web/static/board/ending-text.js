/** Describes how a match ended in words of its game: "alphabeta has three in a row". */

import { counted, listed, reasonInWords, seatWithVerb, sentence } from "../format.js";
import { boardClass } from "./index.js";

const LEAVING_WORDS = {
  resigned: ["resigned", "resigned"],
  timeout: ["ran out of time", "ran out of time"],
  disconnected: ["was disconnected and did not return in time", "were disconnected and did not return in time"],
  illegal: ["made a third illegal move", "made a third illegal move"],
  no_show: ["did not show up", "were not ready in time"],
  failed: ["stopped: its program failed", "stopped: your program failed"],
};
const LIMIT_WORDS = {
  ply_limit: "the match reached the limit of moves",
  round_limit: "the last round was played",
  draw: "no player won",
  win: "the game was played to its end",
};

/**
 * @typedef {object} Ended what is known about a finished match
 * @property {string} game
 * @property {object} config
 * @property {string[]} bots by seat
 * @property {number[]} ranks
 * @property {string} reason of the match
 * @property {string[]} reasons by seat
 * @property {object} [state] the last state
 * @property {object} [event] the last event
 * @property {number} [you] a person's seat
 * @property {boolean} [goesOn] true if the others still play, so their places are not known yet
 */

/**
 * Return who won, and how.
 * @param {Ended} ended
 * @returns {{headline: string, why: string}}
 */
export function endingInWords(ended) {
  return { headline: headline(ended), why: said(why(ended), ended.bots) };
}

/**
 * Return who won, and how, from the messages of a match, for a player or a spectator.
 * @param {object} end the message `end`
 * @param {object} start the message `start`
 * @returns {{headline: string, why: string}}
 */
export function endingOf({ ranks, reason, seats, seed, state, events }, { game, config, seat }) {
  return endingInWords({
    game,
    config,
    ranks,
    reason,
    state,
    bots: seats.map(({ bot }) => bot),
    reasons: seats.map((outcome) => outcome.reason),
    event: events.at(-1),
    you: seat,
    goesOn: seat !== undefined && seed === undefined,
  });
}

/**
 * Format a number as 1st, 2nd, 3rd, 4th.
 * @param {number} number
 */
export function ordinal(number) {
  const ending = { one: "st", two: "nd", few: "rd", other: "th" };
  return `${number}${ending[new Intl.PluralRules("en", { type: "ordinal" }).select(number)]}`;
}

/** Make a sentence, without changing bots' names. */
function said(text, bots) {
  return bots.some((bot) => text.startsWith(`${bot} `)) ? `${text}.` : sentence(text);
}

function headline({ bots, ranks, reason, you, goesOn }) {
  if (reason === "void") return "The match is void";
  if (goesOn) return "You are out";
  const first = bots.filter((_, seat) => ranks[seat] === 1);
  if (first.length === ranks.length) return "A draw";
  if (you === undefined) return `${listed(first)} ${first.length === 1 ? "won" : "tied"}`;
  const rank = ranks[you];
  if (rank === 1) return first.length === 1 ? "You won" : `You share first place with ${counted(first.length - 1, "other")}`;
  return ranks.length === 2 ? "You lost" : `You came ${ordinal(rank)} of ${ranks.length}`;
}

function why(ended) {
  const { game, reason, reasons, you, goesOn } = ended;
  if (reason === "void") return "the arena called it off";
  if (you !== undefined && reasons[you] in LEAVING_WORDS) return seatWithVerb(ended, you, "", LEAVING_WORDS[reasons[you]][1]);
  if (goesOn) return boardClass(game).eliminationText;
  const left = reasons.flatMap((each, seat) => (each in LEAVING_WORDS ? [seatWithVerb(ended, seat, ...LEAVING_WORDS[each])] : []));
  if (left.length > 0 && left.length >= reasons.length - 1) return left.join("; ");
  const winners = ended.ranks.flatMap((rank, seat) => (rank === 1 ? [seat] : []));
  return boardClass(game).endingText(ended, winners) ?? LIMIT_WORDS[reason] ?? reasonInWords(reason);
}
