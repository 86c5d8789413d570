/** The players and their running clocks. */

import { moversOf } from "../board/movers.js";
import { Players } from "../board/players.js";
import { clockText } from "../format.js";

const LOW_TIME_MS = 20000; // ms; clocks with less are marked
const WARNING_TIMES_MS = [60000, 30000, 10000]; // ms at which the person is warned

/** The players by seat. Times are counted on from the arena's last message. */
export class Clocks {
  #left;
  #running = []; // seats whose clocks run
  #since = 0;
  #timer;
  #seat;
  #warn;
  #marks;
  #before;

  /**
   * @param {{bot: string, version?: string}[]} seats
   * @param {number} seat the person's seat
   * @param {number} bank ms
   * @param {(sentence: string) => void} warn called when the person's time gets short
   */
  constructor(seats, seat, bank, warn) {
    this.#left = seats.map(() => bank);
    this.#seat = seat;
    this.#warn = warn;
    this.#marks = WARNING_TIMES_MS.filter((mark) => mark < bank);
    this.#before = bank;
    this.players = new Players(seats, { you: seat });
    this.element = this.players.element;
    this.#timer = setInterval(() => this.#draw(), 200);
    this.#draw();
  }

  /**
   * Take the times from a message.
   * @param {number[]} left milliseconds by seat
   * @param {number | number[] | null} toMove the seats whose clocks run, as in a turn
   */
  tell(left, toMove) {
    this.#left = [...left];
    this.#running = moversOf(toMove);
    this.#since = performance.now();
    this.#draw();
  }

  /** Take the time of a single seat that is still to move. */
  correct(seat, left) {
    const others = this.#running.filter((other) => other !== seat);
    this.tell(this.#left.map((_, at) => (at === seat ? left : this.#now(at))), [...others, seat]);
  }

  /** Stop the clock of a seat that has moved. */
  halt(seat) {
    this.tell(this.#left.map((_, at) => this.#now(at)), this.#running.filter((other) => other !== seat));
  }

  /** Remove the times at the end of the match: the effect of its last event on the clocks is not known. */
  stop() {
    clearInterval(this.#timer);
    this.#running = [];
    for (const seat of this.#left.keys()) this.players.clock(seat, "");
  }

  #now(seat) {
    const gone = this.#running.includes(seat) ? performance.now() - this.#since : 0;
    return Math.max(0, this.#left[seat] - gone);
  }

  #draw() {
    for (const seat of this.#left.keys()) {
      const left = this.#now(seat);
      this.players.clock(seat, clockText(left), left < LOW_TIME_MS && this.#running.includes(seat));
    }
    const mine = this.#now(this.#seat);
    const mark = this.#marks.findLast((warning) => mine <= warning && warning < this.#before);
    if (mark !== undefined) this.#warn(`${mark / 1000} seconds left.`);
    this.#before = mine;
  }
}
