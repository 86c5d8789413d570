/** Who plays, and the clocks as they run. */

import { moversOf } from "../board/movers.js";
import { Players } from "../board/players.js";
import { clockText } from "../format.js";

const SHORT = 20000; // ms: a clock that has less is marked
const WARN = [60000, 30000, 10000]; // ms at which a person is told

/** The players, by seat. Times are those of the arena's last message, counted on from when it came. */
export class Clocks {
  #left;
  #running = []; // seats whose clock runs
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

  /**
   * The arena's word.
   * @param {number[]} left milliseconds by seat
   * @param {number | number[] | null} toMove whose clocks run, as a turn has it
   */
  tell(left, toMove) {
    this.#left = [...left];
    this.#running = moversOf(toMove);
    this.#since = performance.now();
    this.#draw();
  }

  /** What a seat has left that is still to move, where the arena says that alone. */
  correct(seat, left) {
    const others = this.#running.filter((other) => other !== seat);
    this.tell(this.#left.map((_, at) => (at === seat ? left : this.#now(at))), [...others, seat]);
  }

  /** A seat has moved, whatever the others do: its clock stands. */
  halt(seat) {
    this.tell(this.#left.map((_, at) => this.#now(at)), this.#running.filter((other) => other !== seat));
  }

  /** The match is over. What its last event took from a clock or gave it is not told: no times are shown any more. */
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
      this.players.clock(seat, clockText(left), left < SHORT && this.#running.includes(seat));
    }
    const mine = this.#now(this.#seat);
    const mark = this.#marks.findLast((warning) => mine <= warning && warning < this.#before);
    if (mark !== undefined) this.#warn(`${mark / 1000} seconds left.`);
    this.#before = mine;
  }
}
