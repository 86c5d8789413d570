/** Frames shown one after the other, slowly enough to be seen: bots answer within milliseconds. */

const STEP = 600; // ms for which a move of somebody else stands before the next is shown
const QUICKEST = 150;
const CATCH_UP = 4000; // ms in which all that wait are shown

/** Calls `show(frame)` for each frame that is added, in order. A frame that is `mine` waits for nothing but its turn. */
export class Pace {
  #waiting = [];
  #most = 0; // that waited at once, since none did
  #shown = -Infinity;
  #timer = 0;
  #show;
  #busy;

  /**
   * @param {(frame: any) => void} show
   * @param {(waiting: number) => void} [busy] hears how many frames wait
   */
  constructor(show, busy = () => {}) {
    this.#show = show;
    this.#busy = busy;
  }

  /**
   * @param {any} frame
   * @param {boolean} mine  what it shows is this person's own doing, or nothing has happened
   */
  add(frame, mine) {
    this.#waiting.push({ frame, mine });
    this.#most = Math.max(this.#most, this.#waiting.length);
    this.#next();
  }

  /** Show all that wait, at once. */
  hurry() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    while (this.#waiting.length > 0) this.#take();
    this.#busy(0);
  }

  /** Show nothing more. */
  stop() {
    clearTimeout(this.#timer);
    this.#waiting = [];
    this.#show = () => {};
  }

  #next() {
    while (this.#timer === 0 && this.#waiting.length > 0) {
      const wait = this.#waiting[0].mine ? 0 : this.#shown + this.#step() - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => {
          this.#timer = 0;
          this.#take();
          this.#next();
        }, wait);
      } else {
        this.#take();
      }
    }
    this.#busy(this.#waiting.length);
  }

  #step() {
    return Math.min(STEP, Math.max(QUICKEST, CATCH_UP / this.#most));
  }

  #take() {
    const { frame } = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#most = 0;
    this.#shown = performance.now();
    this.#show(frame);
  }
}
