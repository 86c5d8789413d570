/** Makes tables sortable by pressing a column heading, if all their rows are on the page. */

import { el, put, say } from "../dom.js";

const GROUP_SEPARATOR = /\u202f/g;

function numberOf(cell) {
  return Number.parseFloat(cell.textContent.replace(GROUP_SEPARATOR, ""));
}

/** @param {HTMLTableElement} table */
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const arrow = el("span", { "aria-hidden": "true" });
  for (const [column, head] of heads.entries()) {
    if (head.dataset.fixed !== undefined) continue;
    const isNumber = head.classList.contains("number");
    const sort = () => {
      const descending = head.ariaSort ? head.ariaSort === "ascending" : isNumber;
      for (const other of heads) put(other, "aria-sort", null);
      put(head, "aria-sort", descending ? "descending" : "ascending");
      say(arrow, descending ? " ↓" : " ↑");
      button.append(arrow);
      const compare = isNumber
        ? (a, b) => numberOf(a) - numberOf(b)
        : (a, b) => a.textContent.localeCompare(b.textContent);
      const way = descending ? -1 : 1;
      const rows = [...table.tBodies[0].rows];
      table.tBodies[0].append(...rows.sort((a, b) => way * compare(a.cells[column], b.cells[column])));
    };
    const button = el("button", { type: "button", onclick: sort }, ...head.childNodes);
    head.replaceChildren(button);
  }
}

for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);
