/** A match in the viewer: complete from its record, or growing while it is played; seen from a point of view. */

import { ALL_EYE, seen, viewsOf } from "./views.js";

import { actorsOf } from "../board/movers.js";

/**
 * @typedef {object} Line an event with its consequences
 * @property {object} event
 * @property {number[]} [clock] ms left by seat after it; missing if unknown
 * @property {object} [state] the state after it; missing if unknown
 * @property {number} [given] ms given back to the seat
 * @property {{value?: number, depth?: number, nodes?: number, note?: string}} [info]
 * @property {{seat: number, move: object, given?: number, info?: object}[]} [sealed] moves of a round made before the event
 */

/** The positions of a match: 0 is the start, and k is after the k-th event. Dispatches "grown" when there is more. */
export class MatchDocument extends EventTarget {
  #told = {}; // the complete match
  #seen = null; // the match as seen from the point of view

  /**
   * @param {{header: object, start?: object, plies: Line[], strikes: object[], sealed?: object[], footer?: object,
   *   fault?: string}} record
   */
  constructor({ header, start, plies, strikes, sealed, footer, fault }) {
    super();
    this.header = header;
    this.#told = { start, plies, strikes };
    this.eye = ALL_EYE;
    this.sealed = sealed;
    this.footer = footer ?? null;
    this.fault = fault ?? null;
    this.live = false;
    this.recorded = true; // true if it is complete, as in the record
  }

  /** The complete document, whatever the point of view. */
  get record() {
    const { header, sealed, footer } = this;
    return { header, ...this.#told, sealed, footer };
  }

  get start() {
    return (this.#seen ?? this.#told).start;
  }

  set start(start) {
    this.#know({ start });
  }

  get plies() {
    return (this.#seen ?? this.#told).plies;
  }

  set plies(plies) {
    this.#know({ plies });
  }

  get strikes() {
    return (this.#seen ?? this.#told).strikes;
  }

  set strikes(strikes) {
    this.#know({ strikes });
  }

  #know(more) {
    Object.assign(this.#told, more);
    this.see(this.eye);
  }

  /** Whether the match has hidden information. */
  get isHidden() {
    return viewsOf(this.header) !== null;
  }

  /**
   * Change the point of view; in a live match, it takes effect once the record is there.
   * @param {import("./views.js").Eye} eye
   */
  see(eye) {
    const views = viewsOf(this.header);
    this.eye = views ? eye : ALL_EYE;
    if (this.eye === ALL_EYE || !this.recorded) {
      this.#seen = null;
      return;
    }
    const { start, plies, strikes } = this.#told;
    this.#seen = {
      start: start && views.state(start, eye),
      plies: plies.map((line) => seen(views, line, eye)),
      strikes: strikes.filter(({ seat }) => seat === eye),
    };
  }

  /** The index of the last position. */
  get last() {
    return this.plies.length;
  }

  /**
   * Return the event that led to a position, with its consequences; undefined at the start and where no event is known.
   * @param {number} at
   * @returns {Line | undefined}
   */
  line(at) {
    return this.plies[at - 1];
  }

  /**
   * Return the events up to a position.
   * @param {number} at
   */
  eventsTo(at) {
    return this.plies.slice(0, at).map(({ event }) => event);
  }

  /**
   * Return the state at a position; undefined if it is not known.
   * @param {number} at
   */
  state(at) {
    const state = at ? this.line(at)?.state : this.start;
    return state && "ply" in state ? state : undefined; // the state of a match that never began is empty
  }

  /**
   * Return the milliseconds left by seat; undefined if they are not known.
   * @param {number} at
   * @returns {number[] | undefined}
   */
  clock(at) {
    return at ? this.line(at)?.clock : this.header.seats.map(() => this.header.clock.bank_ms);
  }

  /**
   * Return the thinking time and compensation, in ms, of each seat that acted at a position; empty if the clocks are
   * unknown.
   * @param {number} at
   * @returns {{seat: number, ms: number, given: number}[]}
   */
  thoughts(at) {
    if (!at) return [];
    const { event, given = 0, sealed = [] } = this.line(at);
    const [before, after] = [this.clock(at - 1), this.clock(at)];
    if (before === undefined || after === undefined) return [];
    const added = event.out === undefined ? this.header.clock.increment_ms : 0;
    return actorsOf(event).map((seat) => {
      const back = event.moves ? (sealed.find((choice) => choice.seat === seat)?.given ?? 0) : given;
      return { seat, ms: Math.max(0, before[seat] - after[seat] + back + added), given: back };
    });
  }

  /**
   * Return what bots reported about their thinking at a position.
   * @param {number} at
   * @returns {{seat: number, info: object}[]}
   */
  infos(at) {
    const { event, info, sealed = [] } = this.line(at);
    return [{ seat: event.seat, info }, ...sealed].filter((told) => told.info).sort((one, other) => one.seat - other.seat);
  }

  /**
   * Return the refused moves before the event of a position.
   * @param {number} at
   */
  strikesAt(at) {
    if (!at || !this.strikes.length) return [];
    const { event } = this.line(at);
    return this.strikes.filter(({ ply, seat }) => ply === event.ply && actorsOf(event).includes(seat));
  }

  /**
   * Return a position's name for URLs: its ply, plus a number if several events have that ply.
   * @param {number} at
   */
  named(at) {
    if (!at) return "start";
    const { ply } = this.line(at).event;
    let nth = 1;
    while (at - nth >= 1 && this.line(at - nth).event.ply === ply) nth += 1;
    return nth === 1 ? `${ply}` : `${ply}.${nth}`;
  }

  /**
   * Return the position with a name; null if there is none.
   * @param {string} name in the form of `named`
   */
  position(name) {
    if (name === "start") return 0;
    const [ply, nth = 1] = name.split(".").map(Number);
    if (!Number.isInteger(ply) || !Number.isInteger(nth)) return null;
    const first = this.plies.findIndex(({ event }) => event.ply >= ply);
    return first < 0 ? this.last : Math.min(this.last, first + nth);
  }

  /** Announce that the match has grown or changed. */
  grown() {
    this.dispatchEvent(new Event("grown"));
  }
}
