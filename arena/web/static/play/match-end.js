/** The end of a person's match: who won and why, and what to do next. */

import { el, put, say } from "../dom.js";
import { listed } from "../format.js";
import { asks, readiness } from "./who-plays.js";

const LEVEL = /^level-([1-8])$/;
const LEVELS = 8;

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
  const levels = levelsAfter(end, start).join(" ");
  const step = el("button", { type: "button", class: "next", hidden: true, "data-levels": levels, onclick: () => meet(step.value) });
  const other = el("button", { type: "button", onclick: leave }, "Another game");
  const look = el(
    "a",
    { href: `/matches/${encodeURIComponent(start.match)}` },
    goesOn ? "Watch the others play on" : "Replay it move by move",
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
 * The levels to meet next, the nearest first: those above after a win, those below after a loss; none where the opponent was
 * no level, or after a draw.
 * @param {{ranks: number[]} | undefined} end
 * @param {{seat: number, seats: {bot: string}[]}} start
 */
export function levelsAfter(end, { seat, seats }) {
  const rivals = seats.filter((_, at) => at !== seat).map(({ bot }) => LEVEL.exec(bot));
  if (end === undefined || rivals.length !== 1 || rivals[0] === null) return [];
  const step = Math.sign(end.ranks[1 - seat] - end.ranks[seat]);
  if (step === 0) return [];
  const levels = [];
  for (let level = Number(rivals[0][1]) + step; level >= 1 && level <= LEVELS; level += step) levels.push(`level-${level}`);
  return levels;
}

/**
 * Offer the level to meet next, the nearest that is here for the same.
 * @param {HTMLElement} ending  what `makeEnding` made is in it
 * @param {object} start  the message
 * @param {{bots: object[], matches?: object[]}} listing
 */
export function offerNext(ending, { game, preset, seat, seats }, { bots, matches = [] }) {
  const step = ending.querySelector(".next");
  const wish = { game, preset, seats: seats.length };
  const me = seats[seat].bot.toLowerCase();
  const here = new Set(bots.filter((bot) => readiness(bot, wish, me, matches, false) !== null).map(({ bot }) => bot));
  const next = step.dataset.levels.split(" ").find((level) => here.has(level)) ?? "";
  put(step, "hidden", next === "");
  step.value = next;
  say(step, next === "" ? "" : `Play ${next}`);
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
