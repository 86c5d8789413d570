/**
 * What a seat or a spectator may see of a match with hidden information: the counterpart of `view` and `view_event` of the
 * server's rules.
 */

import { boardClass } from "../board/index.js";

/** The point of view that sees everything. */
export const ALL_EYE = "all";
/** The point of view of spectators. That of a seat is its number. */
export const SPECTATORS = "spectators";

/**
 * @typedef {number | typeof ALL_EYE | typeof SPECTATORS} Eye a point of view
 *
 * @typedef {object} Views what each point of view sees of a game
 * @property {(state: object, eye: Eye) => object} state
 * @property {(event: object, eye: Eye) => object} event
 */

/**
 * Return the views of a match, whose board is loaded; null if nothing is hidden.
 * @param {{game: string, config: object}} header
 * @returns {Views | null}
 */
export function viewsOf({ game, config }) {
  return boardClass(game).viewsOf(config);
}

/**
 * Return an event and its state as seen from a point of view, without the thinking of others.
 * @param {Views} views
 * @param {import("./document.js").Line} line
 * @param {Eye} eye
 * @returns {import("./document.js").Line}
 */
export function seen({ event: eventOf, state: stateOf }, line, eye) {
  const { event, state, info, sealed } = line;
  return {
    ...line,
    event: eventOf(event, eye),
    state: state ? stateOf(state, eye) : state,
    info: event.seat === eye ? info : undefined,
    sealed: sealed?.filter(({ seat }) => seat === eye),
  };
}
