/** The end of a person's match: who won and why, and what to do next. */

import { el, put, say } from "../dom.js";
import { listed } from "../format.js";
import { asks } from "./opponents.js";

const LEVEL = /^level-([1-8])$/;

/**
 * Create the result, with buttons for what to do next.
 * @param {{headline: string, why: string}} result
 * @param {object | undefined} end the message `end`, if it arrived
 * @param {object} start the message `start`
 * @param {{rematch: () => void, leave: () => void, meet: (rival: string) => void}} ways
 * @returns {HTMLElement[]}
 */
export function makeEnding({ headline, why }, end, start, { rematch, leave, meet }) {
  const goesOn = end !== undefined && end.seed === undefined;
  const again = el("button", { type: "button", class: "main", onclick: rematch }, "Rematch");
  const next = levelAfter(end, start);
  const step = el("button", { type: "button", class: "next", hidden: true, value: next, onclick: () => meet(next) }, `Play ${next}`);
  const other = el("button", { type: "button", onclick: leave }, "Another game");
  const look = el(
    "a",
    { href: `/matches/${encodeURIComponent(start.match)}` },
    goesOn ? "See how the others go on" : "See it again, move by move",
  );
  const calls = el("p", { class: "calls", role: "status" });
  return [el("h2", { tabindex: -1 }, headline), el("p", {}, why), ...rated(end?.seats[start.seat]), calls, el("p", { class: "row" }, again, step, other, look)];
}

/** Show the change of a person's rating, if the match was rated before its end was sent. */
function rated({ mu_before: before, mu_after: after } = {}) {
  if (after === undefined) return [];
  const ladder = el("a", { href: "/docs/ladder#people" }, "among people");
  return [el("p", { class: "rated small" }, "Your rating ", ladder, `: ${before.toFixed(1)} before, ${after.toFixed(1)} now.`)];
}

/**
 * Return the level to play next: one up after a win, one down after a loss; empty after a draw or against other
 * opponents.
 * @param {{ranks: number[]} | undefined} end
 * @param {{seat: number, seats: {bot: string}[]}} start
 */
export function levelAfter(end, { seat, seats }) {
  const rivals = seats.filter((_, at) => at !== seat).map(({ bot }) => LEVEL.exec(bot));
  if (end === undefined || rivals.length !== 1 || rivals[0] === null) return "";
  const next = `level-${Number(rivals[0][1]) + Math.sign(end.ranks[1 - seat] - end.ranks[seat])}`;
  return LEVEL.test(next) && next !== rivals[0][0] ? next : "";
}

/**
 * Offer the next level, if it is online.
 * @param {HTMLElement} ending contains what `makeEnding` returned
 * @param {{bots: {bot: string}[]}} listing
 */
export function offerNext(ending, { bots }) {
  const step = ending.querySelector(".next");
  put(step, "hidden", !bots.some(({ bot }) => bot === step.value));
}

/**
 * Show beside the result who wants a rematch.
 * @param {HTMLElement} ending contains what `makeEnding` returned
 * @param {object} start the message `start`
 * @param {{bots: object[]}} listing
 * @returns {string} the same as a text; empty if there is no call
 */
export function tellCalls(ending, { game, preset, seat, seats }, { bots }) {
  const me = seats[seat].bot.toLowerCase();
  const isSame = (seek) => seek.game === game && seek.preset === preset && asks(seek, me);
  const callers = bots.filter(({ bot, seeks = [] }) => seats.some((player) => player.bot === bot) && seeks.some(isSame));
  const names = callers.map(({ bot }) => bot);
  const told = names.length === 0 ? "" : `${listed(names)} ${names.length === 1 ? "wants" : "want"} a rematch`;
  say(ending.querySelector(".calls"), told === "" ? "" : `${told}.`);
  return told;
}
