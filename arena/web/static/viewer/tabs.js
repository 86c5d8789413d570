/** Tabs: one panel of several in sight; arrow keys go from tab to tab. */

import { el, put } from "../dom.js";

const WAYS = { ArrowLeft: -1, ArrowRight: 1 };

export class Tabs {
  #tabs = new Map(); // name -> {tab, panel}, of those that have something

  /**
   * @param {string} label of the list
   * @param {string[]} names in order; a tab is there once it is filled, and the first that is, chosen
   * @param {() => void} [shown] another panel is in sight
   */
  constructor(label, names, shown = () => {}) {
    this.names = names;
    this.shown = shown;
    this.list = el("div", { class: "tablist", role: "tablist", "aria-label": label, onkeydown: (event) => this.#key(event) });
    this.element = el("div", { class: "tabbed" }, this.list);
  }

  /**
   * Fill a tab; with what it had before gone.
   * @param {string} name
   * @param {...Node} content
   */
  fill(name, ...content) {
    if (!this.#tabs.has(name)) this.#add(name);
    this.#tabs.get(name).panel.replaceChildren(...content);
    this.choose(this.chosen ?? name);
  }

  #add(name) {
    const id = name.toLowerCase();
    const tab = el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, onclick: () => this.choose(name) }, name);
    const panel = el("div", { class: `panel panel-${id}`, role: "tabpanel", tabindex: 0, id: `panel-${id}`, "aria-labelledby": `tab-${id}` });
    this.#tabs.set(name, { tab, panel });
    const there = this.names.filter((other) => this.#tabs.has(other)).map((other) => this.#tabs.get(other));
    this.list.replaceChildren(...there.map((each) => each.tab));
    this.element.append(panel);
  }

  /**
   * Show a panel, and hide the others.
   * @param {string} name
   */
  choose(name) {
    this.chosen = name;
    for (const [other, { tab, panel }] of this.#tabs) {
      put(tab, "aria-selected", other === name ? "true" : "false");
      put(tab, "tabindex", other === name ? 0 : -1);
      put(panel, "hidden", other !== name);
    }
    this.shown();
  }

  #key(event) {
    const names = this.names.filter((name) => this.#tabs.has(name));
    const last = names.length - 1;
    const way = WAYS[event.key];
    const next = way ? (names.indexOf(this.chosen) + way + names.length) % names.length : { Home: 0, End: last }[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.choose(names[next]);
    this.#tabs.get(names[next]).tab.focus();
  }
}
