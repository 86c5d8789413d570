/** Sections of a page as tabs: `<nav data-tabs>` with a link to each `[data-tab]`. Without this they stand one below the other. */

import { choose, join, walk } from "../tab-list.js";

/** @param {HTMLElement} list */
function tabs(list) {
  const links = [...list.querySelectorAll("a")];
  const heads = links.map((link) => document.querySelector(link.hash));
  const pairs = links.map((tab, at) => ({ tab, panel: heads[at].closest("[data-tab]") }));

  /** The tab that an address means: of a section, or of something in one. */
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
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // it is a link still
      event.preventDefault();
      go(at);
    });
  }
  walk(list, () => links, go);
  list.addEventListener("keydown", (event) => {
    if (event.key !== " ") return; // a link does nothing by it
    event.preventDefault();
    go(links.indexOf(event.target));
  });
  addEventListener("hashchange", () => meant() >= 0 && choose(pairs, meant()));
  choose(pairs, Math.max(0, meant()));
}

for (const list of document.querySelectorAll("nav[data-tabs]")) tabs(list);
