/** Tables whose rows are all on the page sort by the column whose heading is pressed. */

import { el } from "../dom.js";

const MINUS = /\u2212/g;
const GROUPING = /[\u202f%]/g;

/** A cell's number, or its text where it has none. */
function valueOf(cell) {
  const text = cell.textContent.trim();
  const number = Number.parseFloat(text.replace(MINUS, "-").replace(GROUPING, ""));
  return cell.classList.contains("number") && !Number.isNaN(number) ? number : text;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
}

/** @param {HTMLTableElement} table */
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.dataset.fixed !== undefined) return;
    const button = el("button", { type: "button", class: "sort" }, ...head.childNodes, el("span", { "aria-hidden": "true" }));
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const descending = head.ariaSort ? head.ariaSort === "ascending" : numeric;
      for (const other of heads) {
        other.removeAttribute("aria-sort");
        const mark = other.querySelector("button > span:last-child");
        if (mark) mark.textContent = "";
      }
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      button.lastChild.textContent = descending ? " ↓" : " ↑";
      const rows = [...table.tBodies[0].rows];
      const values = new Map(rows.map((row) => [row, valueOf(row.cells[column])]));
      rows.sort((a, b) => compare(values.get(a), values.get(b)) * (descending ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
}

for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);
