/** What a seat may see of a match in which something is hidden, or a spectator: as `view` and `view_event` of protocol/games. Pure. */

/** Somebody who sees everything. */
export const ALL = "all";
/** Whoever only watches. A seat is its number. */
export const SPECTATORS = "spectators";

/**
 * @typedef {number | typeof ALL | typeof SPECTATORS} Eye who looks on
 *
 * @typedef {object} Views how a game is seen
 * @property {(state: object, eye: Eye) => object} state
 * @property {(event: object, eye: Eye) => object} event
 */

/**
 * How the game of a match is seen; null where nothing is hidden.
 * @param {{game: string, config: object}} header
 * @returns {Views | null}
 */
export function viewsOf({ game, config }) {
  if (game === "kuhn" || game === "leduc") return POKER;
  return game === "dilemma" && Number(config.noise) > 0 ? NOISY : null;
}

/**
 * An event with its state as somebody saw it; what others said of their thinking is not told to them.
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

/** Each knows its own card. */
const POKER = {
  state: (state, eye) => (state.cards ? { ...state, cards: only(state.cards, eye) } : state),
  event: (event, eye) => (event.seat < 0 && event.move?.cards ? { ...event, move: { cards: only(event.move.cards, eye) } } : event),
};

/** Each knows what it meant to play, and what noise made of it. */
const NOISY = {
  state: (state) => state,
  event: (event, eye) => (event.moves ? { ...event, moves: only(event.moves, eye) } : event),
};
