/** What a person sees of a match that is over: how it ended, for whom and why, and what may come next. */

import { endingInWords } from "../board/ending-text.js";
import { el } from "../dom.js";

/**
 * How a match ended for a person.
 * @param {object} end  the message
 * @param {object} start  the message
 * @returns {{headline: string, why: string}}
 */
export function result({ ranks, reason, seats, seed, state, events }, { game, config, seat }) {
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
    goesOn: seed === undefined,
  });
}

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
  return [el("h2", { tabindex: -1 }, headline), el("p", {}, why), el("p", { class: "row" }, again, other, look)];
}
