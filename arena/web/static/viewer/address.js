/** What is shown of a match, in the address of its page: the position, and whose view it is. */

import { ALL, SPECTATORS } from "./views.js";

/**
 * The part of an address that shows a position as it is shown now.
 * @param {import("./document.js").MatchDocument} match
 * @param {number | null} at null: the last, wherever that will be
 */
export function addressOf(match, at) {
  const ply = at === null ? [] : [`ply=${match.named(at)}`];
  const view = match.eye === ALL ? [] : [`view=${match.eye}`];
  const told = [...ply, ...view].join("&");
  return told && `#${told}`;
}

/**
 * What an address names: a position as `named` gives it, or null, and whose view; null where it names neither.
 * @param {string} hash
 * @param {number} seats
 * @returns {{ply: string | null, eye: import("./views.js").Eye} | null}
 */
export function placeIn(hash, seats) {
  const told = new URLSearchParams(hash.slice(1));
  const [ply, view] = [told.get("ply"), told.get("view")];
  if (ply === null && view === null) return null;
  const seat = [...Array(seats).keys()].find((each) => String(each) === view);
  return { ply, eye: seat ?? (view === SPECTATORS ? SPECTATORS : ALL) };
}
