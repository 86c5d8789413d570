/** A single tab stop for many parts: arrow keys move the focus to the nearest part, Enter and Space press it. */

import { put } from "../dom.js";

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The pressable parts of a board. */
export class Roving {
  /**
   * @param {Element} face the element that contains the parts
   * @param {(part: Element, event: Event) => void} press
   * @param {(part: Element | null) => void} [point] called with the part under the pointer or with the focus, or null
   */
  constructor(face, press, point = () => {}) {
    this.names = new Map(); // if empty, nothing can be pressed or pointed at
    this.stop = null; // the part that had the focus last, also while nothing can be pressed
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
   * Set the parts that can be pressed, each with its accessible name.
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

/** Return the nearest part in a direction; sideways distance counts double. */
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
