/** What a person sees of a match that is over: how it ended, for whom and why, and what may come next. */

import { el } from "../dom.js";
import { inShort, ordinal } from "./match-text.js";

/**
 * @param {{headline: string, why: string}} result
 * @param {object | undefined} end  the message, where it was told
 * @param {object} start  the message
 * @param {{rematch: () => void, leave: () => void}} ways
 * @returns {HTMLElement[]}
 */
export function makeEnding({ headline, why }, end, start, { rematch, leave }) {
  const goesOn = end !== undefined && end.seed === undefined;
  const told = [el("h2", { tabindex: -1 }, headline), el("p", {}, why)];
  if (end !== undefined && end.seats.length > 2 && !goesOn) told.push(places(end));
  const again = el("button", { type: "button", class: "main", onclick: rematch }, "Rematch");
  const other = el("button", { type: "button", onclick: leave }, "Another game");
  const look = el(
    "a",
    { href: `/matches/${encodeURIComponent(start.match)}` },
    goesOn ? "See how the others go on" : "See it again, move by move",
  );
  return [...told, el("p", { class: "row" }, again, other, look)];
}

function places(end) {
  const order = end.seats.map((outcome, seat) => ({ ...outcome, seat })).sort((one, other) => one.rank - other.rank);
  const rows = order.map(({ bot, rank, reason, seat }) => {
    const why = inShort(reason);
    const said = why === "" ? null : ` (${why})`;
    return el("li", { class: `seat-${seat}` }, `${ordinal(rank)}: `, el("b", {}, bot), said);
  });
  return el("ul", { class: "places" }, ...rows);
}
