/** One tab stop for many parts: arrow keys go to the nearest part in that direction, Enter and Space press it. */

import { put } from "../dom.js";

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The parts of a face that a person can press. */
export class Roving {
  /**
   * @param {Element} face what holds the parts
   * @param {(part: Element, event: Event) => void} press
   * @param {(part: Element | null) => void} [point] a part is pointed at or has the focus; null: none
   */
  constructor(face, press, point = () => {}) {
    this.names = new Map(); // empty: nothing can be pressed, so nothing is pointed at either
    this.stop = null; // where a person was last, also while nothing can be pressed
    this.press = press;
    this.point = point;
    face.addEventListener("click", (event) => this.#on(event, (part) => press(part, event)));
    face.addEventListener("pointerover", (event) => this.#on(event, point));
    face.addEventListener("pointerleave", () => this.#leave());
    face.addEventListener("focusin", (event) => this.#on(event, (part) => (this.#stopAt(part), point(part))));
    face.addEventListener("focusout", () => this.#leave());
    face.addEventListener("keydown", (event) => this.#on(event, (part) => this.#key(part, event)));
  }

  /**
   * The parts of now, each with its accessible name; none: nothing can be pressed.
   * @param {[Element, string][]} named
   */
  offer(named) {
    const names = new Map(named);
    for (const part of this.names.keys()) if (!names.has(part)) for (const name of ["role", "tabindex", "aria-label"]) put(part, name, null);
    if (!names.has(this.stop) && names.size > 0) this.stop = names.keys().next().value;
    this.names = names;
    for (const [part, name] of names) {
      put(part, "role", "button");
      put(part, "aria-label", name);
      put(part, "tabindex", part === this.stop ? 0 : -1);
    }
  }

  #on(event, then) {
    const part = event.target.closest?.("[role=button]");
    if (this.names.has(part)) then(part);
  }

  #leave() {
    if (this.names.size > 0) this.point(null);
  }

  #stopAt(stop) {
    this.stop = stop;
    for (const part of this.names.keys()) put(part, "tabindex", part === stop ? 0 : -1);
  }

  #key(part, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.press(part, event);
    else if (event.key in WAYS) nearest(part, this.names.keys(), WAYS[event.key])?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The part that lies nearest in a direction, what lies aside counting double. */
function nearest(from, parts, [dx, dy]) {
  const [x, y] = middle(from);
  let best = null;
  let least = Infinity;
  for (const part of parts) {
    const [px, py] = middle(part);
    const ahead = (px - x) * dx + (py - y) * dy;
    const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
    if (part !== from && ahead > 1 && ahead + 2 * aside < least) {
      least = ahead + 2 * aside;
      best = part;
    }
  }
  return best;
}

function middle(part) {
  const box = part.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}
