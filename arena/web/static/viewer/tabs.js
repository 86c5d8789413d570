/** Tabs that are filled one by one; one panel is visible. */

import { el } from "../dom.js";
import { choose, join, walk } from "../tab-list.js";

export class Tabs {
  /** @type {Map<string, import("../tab-list.js").Pair>} the filled tabs by name */
  #pairs = new Map();

  /**
   * @param {string} label the label of the list
   * @param {string[]} names in order; a tab appears once it is filled, and the first one filled is selected
   * @param {() => void} [shown] called when another panel becomes visible
   */
  constructor(label, names, shown = () => {}) {
    this.names = names;
    this.shown = shown;
    this.list = el("div", { class: "tablist", role: "tablist", "aria-label": label });
    this.element = el("div", { class: "tabbed" }, this.list);
    walk(this.list, () => [...this.list.children], (at) => this.choose(this.#there[at]));
  }

  /** The names of the filled tabs, in order. */
  get #there() {
    return this.names.filter((name) => this.#pairs.has(name));
  }

  /**
   * Fill a tab, replacing its content.
   * @param {string} name
   * @param {...Node} content
   */
  fill(name, ...content) {
    if (!this.#pairs.has(name)) this.#add(name);
    this.#pairs.get(name).panel.replaceChildren(...content);
    this.choose(this.chosen ?? name);
  }

  #add(name) {
    const tab = el("button", { type: "button", onclick: () => this.choose(name) }, name);
    const panel = el("div", { class: `panel panel-${name.toLowerCase()}` });
    join({ tab, panel }, name.toLowerCase());
    this.#pairs.set(name, { tab, panel });
    this.list.replaceChildren(...this.#there.map((other) => this.#pairs.get(other).tab));
    this.element.append(panel);
  }

  /**
   * Show a panel, and hide the others.
   * @param {string} name
   */
  choose(name) {
    this.chosen = name;
    choose([...this.#pairs.values()], [...this.#pairs.keys()].indexOf(name));
    this.shown();
  }
}
