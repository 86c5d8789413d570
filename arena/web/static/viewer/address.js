/** The position and point of view of a viewer, in the URL of its page. */

import { ALL_EYE, SPECTATORS } from "./views.js";

/**
 * Return the URL's hash for a position.
 * @param {import("./document.js").MatchDocument} match
 * @param {number | null} at null: the last, wherever that will be
 */
export function addressOf(match, at) {
  const ply = at === null ? [] : [`ply=${match.named(at)}`];
  const view = match.eye === ALL_EYE ? [] : [`view=${match.eye}`];
  const told = [...ply, ...view].join("&");
  return told && `#${told}`;
}

/**
 * Parse the position (in the form of `named`) and the point of view from a hash; null if it has neither.
 * @param {string} hash
 * @param {number} seats
 * @returns {{ply: string | null, eye: import("./views.js").Eye} | null}
 */
export function placeIn(hash, seats) {
  const told = new URLSearchParams(hash.slice(1));
  const [ply, view] = [told.get("ply"), told.get("view")];
  if (ply === null && view === null) return null;
  const seat = [...Array(seats).keys()].find((each) => String(each) === view);
  return { ply, eye: seat ?? (view === SPECTATORS ? SPECTATORS : ALL_EYE) };
}
