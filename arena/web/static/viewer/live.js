/** The document of a live match, which grows with the messages for a spectator. */

import { loadRules } from "../check/rules.js";
import { MatchDocument } from "./document.js";
import { after, opening, travelling } from "./states.js";

export class LiveDocument extends MatchDocument {
  /** @param {object} start the message `start` */
  constructor(start) {
    super({ header: start, plies: [], strikes: [] });
    this.live = true;
    this.recorded = false;
    this.told = performance.now(); // when the last turn came
    this.cutAt = null; // when the connection was lost, until the next turn
    this.whole = true; // the next turn contains all events so far
    this.working = Promise.resolve();
    this.inner = []; // states with all fields that the rules keep, by position
  }

  /** Expect the match to be sent again from its beginning. */
  begin() {
    this.whole = true;
  }

  /** @param {{events: object[], state: object, clock: number[], digest: string, states?: object[]}} turn */
  turn({ events, state, clock, digest, states }) {
    this.#take(events, state, clock, digest, states);
  }

  /** Note that the connection is lost, so that clocks are unknown. */
  cut() {
    this.cutAt ??= performance.now();
    this.grown();
  }

  /** @param {object} end the message `end` */
  async finish({ events, state, digest, ranks, reason, seats, seed, nonces, ply }) {
    this.live = false;
    this.#take(events, state, undefined, digest);
    await this.working;
    this.footer = { ranks, reason, reasons: seats.map((seat) => seat.reason), plies: ply, digest, seed, nonces };
    this.grown();
  }

  /** Take over the stored match, which also has thinking, strikes and notes. */
  become({ header, start, plies, strikes, sealed, footer, fault }) {
    this.recorded = true; // from here on points of view can be chosen
    Object.assign(this, { header, start, plies, strikes, sealed, footer, fault: fault ?? null });
    this.grown();
  }

  /** Add the events of a turn, after those of earlier ones: computing the states in between is asynchronous. */
  #take(events, state, clock, digest, states = []) {
    const told = performance.now();
    const whole = this.whole;
    this.whole = false;
    this.working = this.working.then(async () => {
      if (whole) this.#begin(events);
      for (const event of whole ? events.slice(this.last) : events) this.plies.push({ event });
      for (const [index, past] of states.entries()) this.#note(this.last - states.length + index, past);
      await this.#fill();
      const line = this.plies.at(-1);
      if (line) Object.assign(line, { state, clock: clock ?? line.clock, digest });
      else this.start = state;
      this.told = told;
      this.cutAt = null;
      this.grown();
    });
  }

  /** Note the state at a position, unless it is known. */
  #note(at, state) {
    if (at === 0) this.start ??= state;
    else if (at > 0) this.line(at).state ??= state;
  }

  /** Keep the known events that the complete list confirms. */
  #begin(events) {
    const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    const cut = this.plies.findIndex(({ event }) => same(event, events[0]));
    if (cut > 0) events.unshift(...this.plies.slice(0, cut).map(({ event }) => event)); // the oldest events were not sent again
    const kept = this.plies.findIndex(({ event }, index) => !same(event, events[index]));
    if (kept >= 0) this.plies.length = kept;
    this.inner.length = Math.min(this.inner.length, this.plies.length + 1);
  }

  async #fill() {
    this.rules ??= loadRules(this.header).catch(() => undefined); // without them, only states that are sent are known
    const rules = await this.rules;
    if (!(0 in this.inner)) {
      this.inner[0] = await opening(rules, this.plies[0]?.event);
      if (this.inner[0]) this.start ??= travelling(rules, this.inner[0]);
    }
    for (let at = this.inner.length; at <= this.last; at++) {
      const line = this.line(at);
      this.inner[at] = await after(rules, this.header, this.inner[at - 1], line.event);
      if (this.inner[at]) line.state ??= travelling(rules, this.inner[at]);
    }
  }
}
