/** Shows frames one after the other, slowly enough to be seen, because bots answer within milliseconds. */

const FRAME_DISPLAY_MS = 600; // ms for which another player's move stays visible
const MIN_FRAME_DISPLAY_MS = 150;
const CATCH_UP_MS = 4000; // ms within which all waiting frames are shown

/** Calls `show(frame)` for each added frame, in order. Frames that are `mine` are not delayed. */
export class FrameQueue {
  #waiting = [];
  #most = 0; // the maximum of the current backlog
  #shown = -Infinity;
  #timer = 0;
  #show;
  #busy;

  /**
   * @param {(frame: any) => void} show
   * @param {(waiting: number) => void} [busy] called with the number of waiting frames
   */
  constructor(show, busy = () => {}) {
    this.#show = show;
    this.#busy = busy;
  }

  /**
   * @param {any} frame
   * @param {boolean} mine true for the person's own move, or if nothing has happened
   */
  add(frame, mine) {
    this.#waiting.push({ frame, mine });
    this.#most = Math.max(this.#most, this.#waiting.length);
    this.#next();
  }

  /** Show all waiting frames at once. */
  hurry() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    while (this.#waiting.length > 0) this.#take();
    this.#busy(0);
  }

  /** Show no more frames. */
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
    return Math.min(FRAME_DISPLAY_MS, Math.max(MIN_FRAME_DISPLAY_MS, CATCH_UP_MS / this.#most));
  }

  #take() {
    const { frame } = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#most = 0;
    this.#shown = performance.now();
    this.#show(frame);
  }
}
