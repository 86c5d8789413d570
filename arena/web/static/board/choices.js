/** A person's choices as a row of buttons. Each has a key, which works while one of them has the focus. */

import { el, put, say } from "../dom.js";

/**
 * @typedef {object} Option
 * @property {string} name the text of the button
 * @property {string} [more] further text, such as the cost
 * @property {string} key a lower-case letter or a digit
 * @property {object} move in wire format
 */

/** Return whether the focus is where it is on an unused page: on the body or the heading. */
function nothingHasFocus() {
  return document.activeElement === document.body || document.activeElement?.matches("h1");
}

/** A row of buttons that calls `choose(move)` for the pressed one. */
export class Choices {
  /** @type {Map<string, {button: HTMLButtonElement, price: HTMLElement, letter: HTMLElement}>} by name */
  #buttons = new Map();
  #offered = [];
  #last = null; // the button that had the focus before the choices were removed

  /** @param {(move: object) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.element = el("div", { class: "choices", role: "group", "aria-label": "your choices", onkeydown: (event) => this.#key(event) });
  }

  /**
   * Show these choices. The focus returns to the last button, or goes to the first, if nothing else has it.
   * @param {Option[]} options
   * @param {string} [first] the name of the choice to focus instead of the first
   */
  offer(options, first = options[0]?.name) {
    const focused = document.activeElement;
    if (this.#offered.some((option) => this.#buttons.get(option.name).button === focused)) this.#last = focused;
    this.#offered = options;
    const buttons = options.map((option) => this.#button(option));
    if (buttons.some((button, at) => this.element.children[at] !== button) || buttons.length !== this.element.childElementCount)
      this.element.replaceChildren(...buttons);
    if (options.length === 0) return;
    const target = buttons.includes(this.#last) ? this.#last : this.#buttons.get(first).button;
    // The choices may be hidden until the next frame; by then a person may have focused something else.
    requestAnimationFrame(() => {
      if (nothingHasFocus()) target.focus({ preventScroll: true });
    });
  }

  #button({ name, more = "", key, move }) {
    if (!this.#buttons.has(name)) {
      const price = el("span", { class: "price" });
      const letter = el("kbd", { "aria-hidden": "true" });
      const button = el("button", { type: "button" }, el("span", {}, name), price, letter);
      this.#buttons.set(name, { button, price, letter });
    }
    const { button, price, letter } = this.#buttons.get(name);
    say(price, more);
    put(price, "hidden", more === "");
    say(letter, key);
    put(button, "aria-keyshortcuts", key);
    button.onclick = () => this.choose(move);
    return button;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const pressed = event.key.toLowerCase();
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const chosen = this.#offered.find(({ key }) => key === pressed);
    if (step !== undefined) this.#step(step);
    else if (chosen !== undefined) this.choose(chosen.move);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #step(step) {
    const buttons = [...this.element.children];
    const at = buttons.indexOf(document.activeElement);
    buttons[(at + step + buttons.length) % buttons.length].focus();
  }
}
