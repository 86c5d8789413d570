/** What a person sees of a match that is over: how it ended, for whom and why, and what may come next. */

import { el, say } from "../dom.js";
import { listed } from "../format.js";
import { asks } from "./opponents.js";

/**
 * The result, and where to go from here.
 * @param {{headline: string, why: string}} result
 * @param {object | undefined} end  the message, where it was told
 * @param {object} start  the message
 * @param {{rematch: () => void, leave: () => void}} ways
 * @returns {HTMLElement[]}
 */
export function makeEnding({ headline, why }, end, start, { rematch, leave }) {
  const goesOn = end !== undefined && end.seed === undefined;
  const again = el("button", { type: "button", class: "main", onclick: rematch }, "Rematch");
  const other = el("button", { type: "button", onclick: leave }, "Another game");
  const look = el(
    "a",
    { href: `/matches/${encodeURIComponent(start.match)}` },
    goesOn ? "See how the others go on" : "See it again, move by move",
  );
  const calls = el("p", { class: "calls", role: "status" });
  return [el("h2", { tabindex: -1 }, headline), el("p", {}, why), calls, el("p", { class: "row" }, again, other, look)];
}

/**
 * Say beside a result who of the others wants to play the same again.
 * @param {HTMLElement} ending  what `makeEnding` made is in it
 * @param {object} start  the message
 * @param {{bots: object[]}} listing
 * @returns {string} it in words; empty where nobody does
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
