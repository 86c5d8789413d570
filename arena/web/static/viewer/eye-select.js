/** The choice of the point of view in a match with hidden information: everything, a seat, or spectators. */

import { el } from "../dom.js";
import { ALL_EYE, SPECTATORS } from "./views.js";

export class EyeSelect {
  /**
   * @param {{bot: string}[]} seats
   * @param {(eye: import("./views.js").Eye) => void} choose
   */
  constructor(seats, choose) {
    this.eyes = [ALL_EYE, ...seats.keys(), SPECTATORS];
    this.choose = choose;
    const names = ["everything", ...seats.map(({ bot }) => `what ${bot} saw`), "what spectators saw"];
    const options = names.map((name, at) => el("option", { value: at }, name));
    this.select = el("select", { title: "choose a view (V)", onchange: () => choose(this.eyes[this.select.selectedIndex]) }, ...options);
    this.element = el("label", { class: "eye-select", hidden: true }, "Show", this.select);
  }

  /**
   * Select a point of view.
   * @param {import("./views.js").Eye} eye
   */
  show(eye) {
    this.select.selectedIndex = this.eyes.indexOf(eye);
  }

  /** Choose the next point of view. */
  next() {
    this.choose(this.eyes[(this.select.selectedIndex + 1) % this.eyes.length]);
  }
}
