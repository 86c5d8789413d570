/** Who plays, and the clocks as they run. */

import { Players } from "../board/players.js";
import { clockText } from "../format.js";

const SHORT = 20000; // ms: a clock that has less is marked
const WARN = [60000, 30000, 10000]; // ms at which a person is told

/** The players, by seat. Times are those of the arena's last message, counted on from when it came. */
export class Clocks {
  #left;
  #running = null;
  #since = 0;
  #timer;
  #seat;
  #warn;
  #marks;
  #before;

  /**
   * @param {{bot: string, version?: string}[]} seats
   * @param {number} seat  the person's
   * @param {number} bank  ms
   * @param {(sentence: string) => void} warn  told when the person's time is short
   */
  constructor(seats, seat, bank, warn) {
    this.#left = seats.map(() => bank);
    this.#seat = seat;
    this.#warn = warn;
    this.#marks = WARN.filter((mark) => mark < bank);
    this.#before = bank;
    this.players = new Players(seats, { you: seat });
    this.element = this.players.element;
    this.#timer = setInterval(() => this.#draw(), 200);
    this.#draw();
  }

  /** The arena's word: milliseconds left by seat, and whose clock runs. */
  tell(left, running) {
    this.#left = [...left];
    this.#running = running;
    this.#since = performance.now();
    this.#draw();
  }

  /** What a seat has left, where the arena says that alone. */
  correct(seat, left) {
    this.tell(this.#left.with(seat, left), this.#running);
  }

  /** The match is over. What its last event took from a clock or gave it is not told: no times are shown any more. */
  stop() {
    clearInterval(this.#timer);
    this.#running = null;
    for (const seat of this.#left.keys()) this.players.clock(seat, "");
  }

  #now(seat) {
    const gone = seat === this.#running ? performance.now() - this.#since : 0;
    return Math.max(0, this.#left[seat] - gone);
  }

  #draw() {
    for (const seat of this.#left.keys()) {
      const left = this.#now(seat);
      this.players.clock(seat, clockText(left), left < SHORT && seat === this.#running);
    }
    const mine = this.#now(this.#seat);
    const mark = this.#marks.findLast((warning) => mine <= warning && warning < this.#before);
    if (mark !== undefined) this.#warn(`${mark / 1000} seconds left.`);
    this.#before = mine;
  }
}
