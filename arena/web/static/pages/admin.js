/** The admin pages: fills the form with names from a file, and refreshes bots and tournaments. */

import { el } from "../dom.js";
import { refresher } from "./refresh.js";

const REFRESH_INTERVAL_MS = 3000; // ms; the refresher adds its own delay

/** Offer to fill the form for new bots from a file. */
function offerFile() {
  const place = document.querySelector("#from-file");
  const names = /** @type {HTMLTextAreaElement | null} */ (document.querySelector("#names"));
  if (place === null || names === null) return;
  const file = /** @type {HTMLInputElement} */ (el("input", { type: "file", id: "file", accept: ".csv,.txt,text/csv,text/plain" }));
  file.addEventListener("change", async () => {
    if (file.files?.[0]) names.value = await file.files[0].text();
  });
  place.append(el("label", { for: "file" }, "Or load them from a file:"), file);
  place.removeAttribute("hidden");
}

/**
 * Refresh these parts regularly, but not while the first one has the focus.
 * @param {string[]} ids
 */
function lookAgain(ids) {
  const part = () => document.getElementById(ids[0]);
  if (part() === null) return;
  const refresh = refresher(ids, keepChosen);
  setInterval(() => {
    const shown = part();
    if (shown?.childElementCount && !shown.contains(document.activeElement)) refresh();
  }, REFRESH_INTERVAL_MS);
}

/**
 * Keep checked boxes in the new version of the page.
 * @param {Document} fresh
 */
function keepChosen(fresh) {
  const chosen = new Set([...document.querySelectorAll("#roster :checked")].map((box) => box.getAttribute("value")));
  for (const box of fresh.querySelectorAll("#roster input")) {
    if (chosen.has(box.getAttribute("value"))) box.setAttribute("checked", "");
  }
}

offerFile();
lookAgain(["roster", "count"]);
lookAgain(["under-way"]);
