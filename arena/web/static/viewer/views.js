/**
 * What a seat or a spectator may see of a match with hidden information: the counterpart of `view` and `view_event` in
 * protocol/games. Pure.
 */

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
 * Return the views of a match's game; null if nothing is hidden.
 * @param {{game: string, config: object}} header
 * @returns {Views | null}
 */
export function viewsOf({ game, config }) {
  if (game === "kuhn" || game === "leduc") return POKER;
  return game === "dilemma" && Number(config.noise) > 0 ? NOISY : null;
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

const only = (list, eye) => list.map((each, seat) => (seat === eye ? each : null));

/** Each seat knows its own card. */
const POKER = {
  state: (state, eye) => (state.cards ? { ...state, cards: only(state.cards, eye) } : state),
  event: (event, eye) => (event.seat < 0 && event.move?.cards ? { ...event, move: { cards: only(event.move.cards, eye) } } : event),
};

/** Each seat knows its own choices, and what noise made of them. */
const NOISY = {
  state: (state) => state,
  event: (event, eye) => (event.moves ? { ...event, moves: only(event.moves, eye) } : event),
};
