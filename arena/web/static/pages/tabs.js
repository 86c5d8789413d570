/** Sections of a page as tabs: `<nav data-tabs>` with a link to each `[data-tab]`. Without this they stand one below the other. */

// Without imports: pages wait for it before they are painted, so that no section is seen and goes.

/** @param {HTMLElement} list */
function tabs(list) {
  const links = [...list.querySelectorAll("a")];
  const heads = links.map((link) => document.querySelector(link.hash));
  const panels = heads.map((head) => head.closest("[data-tab]"));

  function show(at) {
    for (const [index, link] of links.entries()) {
      link.ariaSelected = String(index === at);
      link.tabIndex = index === at ? 0 : -1;
      panels[index].hidden = index !== at;
    }
  }

  /** The tab that an address means: of a section, or of something in one. */
  function meant() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    return panels.findIndex((panel) => target !== null && panel.contains(target));
  }

  function go(at) {
    show(at);
    history.replaceState(history.state, "", links[at].hash);
  }

  list.role = "tablist";
  for (const [at, link] of links.entries()) {
    link.role = "tab";
    link.id ||= `tab-${heads[at].id}`;
    panels[at].id ||= `panel-${heads[at].id}`;
    link.setAttribute("aria-controls", panels[at].id);
    panels[at].role = "tabpanel";
    panels[at].setAttribute("aria-labelledby", link.id);
    panels[at].tabIndex = 0;
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // it is a link still
      event.preventDefault();
      go(at);
    });
  }
  list.addEventListener("keydown", (event) => {
    const at = links.indexOf(event.target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " ") go(at);
    else if (next !== undefined) {
      const to = (next + links.length) % links.length;
      go(to);
      links[to].focus();
    } else return;
    event.preventDefault();
  });
  addEventListener("hashchange", () => meant() >= 0 && show(meant()));
  show(Math.max(0, meant()));
}

for (const list of document.querySelectorAll("nav[data-tabs]")) tabs(list);
