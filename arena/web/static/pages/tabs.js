/**
 * Turns sections into tabs: `<nav data-tabs>` has a link to each `[data-tab]`. Without scripts the sections stand one
 * below the other.
 */

import { choose, join, walk } from "../tab-list.js";

/** @param {HTMLElement} list */
function tabs(list) {
  const links = [...list.querySelectorAll("a")];
  const heads = links.map((link) => document.querySelector(link.hash));
  const pairs = links.map((tab, at) => ({ tab, panel: heads[at].closest("[data-tab]") }));

  /** Return the index of the tab that the URL's hash points to or into. */
  function meant() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    return pairs.findIndex(({ panel }) => target !== null && panel.contains(target));
  }

  function go(at) {
    choose(pairs, at);
    history.replaceState(history.state, "", links[at].hash);
  }

  list.role = "tablist";
  for (const [at, link] of links.entries()) {
    join(pairs[at], heads[at].id);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // keep the usual behaviour of a link
      event.preventDefault();
      go(at);
    });
  }
  walk(list, () => links, go);
  list.addEventListener("keydown", (event) => {
    if (event.key !== " ") return; // a space does not activate a link
    event.preventDefault();
    go(links.indexOf(event.target));
  });
  addEventListener("hashchange", () => meant() >= 0 && choose(pairs, meant()));
  choose(pairs, Math.max(0, meant()));
}

for (const list of document.querySelectorAll("nav[data-tabs]")) tabs(list);
