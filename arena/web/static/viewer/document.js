/** A match as the viewer knows it: whole from its record, or growing while it is played; as somebody saw it. */

import { ALL, seen, viewsOf } from "./views.js";

import { actorsOf } from "../board/movers.js";

/**
 * @typedef {object} Line what happened at a ply
 * @property {object} event
 * @property {number[]} [clock] ms left by seat after it; missing where it was not told
 * @property {object} [state] after it; missing where it is not known
 * @property {number} [given] ms that the seat had been given back
 * @property {{value?: number, depth?: number, nodes?: number, note?: string}} [info]
 * @property {{seat: number, move: object, given?: number, info?: object}[]} [sealed] moves of a round that were made before the event
 */

/** The positions of a match: 0 is the start, k is after the k-th event. Tells "grown" when there are more. */
export class MatchDocument extends EventTarget {
  #told = {}; // what `record` tells
  #seen = null; // the same as somebody saw it

  /**
   * @param {{header: object, start?: object, plies: Line[], strikes: object[], sealed?: object[], footer?: object,
   *   fault?: string}} record
   */
  constructor({ header, start, plies, strikes, sealed, footer, fault }) {
    super();
    this.header = header;
    this.#told = { start, plies, strikes };
    this.eye = ALL;
    this.sealed = sealed;
    this.footer = footer ?? null;
    this.fault = fault ?? null;
    this.live = false;
    this.recorded = true; // all of it is there, as the record has it
  }

  /** All of it, whoever looks on. */
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

  /** Whether somebody saw less than others. */
  get isHidden() {
    return viewsOf(this.header) !== null;
  }

  /**
   * From now on tell what somebody saw; of a match that is played, once it is recorded.
   * @param {import("./views.js").Eye} eye
   */
  see(eye) {
    const views = viewsOf(this.header);
    this.eye = views ? eye : ALL;
    if (this.eye === ALL || !this.recorded) {
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

  /** The last position. */
  get last() {
    return this.plies.length;
  }

  /** @param {number} at position */
  line(at) {
    return this.plies[at - 1];
  }

  /**
   * The events up to a position.
   * @param {number} at
   */
  eventsTo(at) {
    return this.plies.slice(0, at).map(({ event }) => event);
  }

  /**
   * The state at a position; undefined where it is not known.
   * @param {number} at
   */
  state(at) {
    const state = at ? this.line(at).state : this.start;
    return state && "ply" in state ? state : undefined; // that of a match which never began is empty
  }

  /**
   * Milliseconds left by seat; undefined where they were not told.
   * @param {number} at
   * @returns {number[] | undefined}
   */
  clock(at) {
    return at ? this.line(at).clock : this.header.seats.map(() => this.header.clock.bank_ms);
  }

  /**
   * Milliseconds that each seat thought whose event led to a position, and was given back, as far as the clocks were told.
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
   * What bots said of their thinking up to the event of a position, since the one before.
   * @param {number} at
   * @returns {{seat: number, info: object}[]}
   */
  infos(at) {
    const { event, info, sealed = [] } = this.line(at);
    return [{ seat: event.seat, info }, ...sealed].filter((told) => told.info).sort((one, other) => one.seat - other.seat);
  }

  /**
   * The moves that were refused before the event of a position.
   * @param {number} at
   */
  strikesAt(at) {
    if (!at || !this.strikes.length) return [];
    const { event } = this.line(at);
    return this.strikes.filter(({ ply, seat }) => ply === event.ply && actorsOf(event).includes(seat));
  }

  /**
   * A position's name in an address: its ply; where several events have that ply, which of them.
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
   * The position that an address names; null if none.
   * @param {string} name as `named` gives it
   */
  position(name) {
    if (name === "start") return 0;
    const [ply, nth = 1] = name.split(".").map(Number);
    if (!Number.isInteger(ply) || !Number.isInteger(nth)) return null;
    const first = this.plies.findIndex(({ event }) => event.ply >= ply);
    return first < 0 ? this.last : Math.min(this.last, first + nth);
  }

  /** Say that there is more of the match, or something else of it. */
  grown() {
    this.dispatchEvent(new Event("grown"));
  }
}
