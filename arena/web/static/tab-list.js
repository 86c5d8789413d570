/** Shared behaviour of tabs: each is linked to its panel, one panel is visible, and arrow keys move between tabs. */

// No imports: the first paint waits for this module, so that no section appears and vanishes.

/**
 * @typedef {object} Pair
 * @property {HTMLElement} tab
 * @property {HTMLElement} panel
 */

/**
 * Link a tab and its panel, with ids made of a name.
 * @param {Pair} pair
 * @param {string} name
 */
export function join({ tab, panel }, name) {
  tab.role = "tab";
  tab.id ||= `tab-${name}`;
  panel.id ||= `panel-${name}`;
  tab.setAttribute("aria-controls", panel.id);
  panel.role = "tabpanel";
  panel.setAttribute("aria-labelledby", tab.id);
  panel.tabIndex = 0;
}

/**
 * Show one panel, and hide the others.
 * @param {Pair[]} pairs
 * @param {number} at
 */
export function choose(pairs, at) {
  for (const [index, { tab, panel }] of pairs.entries()) {
    tab.ariaSelected = String(index === at);
    tab.tabIndex = index === at ? 0 : -1;
    panel.hidden = index !== at;
  }
}

/**
 * Let keys move between tabs.
 * @param {HTMLElement} list
 * @param {() => HTMLElement[]} tabs returns the present tabs
 * @param {(at: number) => void} go
 */
export function walk(list, tabs, go) {
  list.addEventListener("keydown", (event) => {
    const there = tabs();
    const at = there.indexOf(event.target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: there.length - 1 }[event.key];
    if (at < 0 || next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const to = (next + there.length) % there.length;
    go(to);
    there[to].focus();
  });
}
