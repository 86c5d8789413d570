/** The operator's pages: names from a file into the form; who is online and how tournaments go, looked at again. */

import { el } from "../dom.js";
import { refresher } from "./refresh.js";

const OFTEN = 3000; // ms; the refresher adds its rest

/** Offer a file whose text goes into the form for new bots. */
function offerFile() {
  const place = document.querySelector("#from-file");
  const names = /** @type {HTMLTextAreaElement | null} */ (document.querySelector("#names"));
  if (place === null || names === null) return;
  const file = /** @type {HTMLInputElement} */ (el("input", { type: "file", id: "file", accept: ".csv,.txt,text/csv,text/plain" }));
  file.addEventListener("change", async () => {
    if (file.files?.[0]) names.value = await file.files[0].text();
  });
  place.append(el("label", { for: "file" }, "Or take them from a file:"), file);
  place.removeAttribute("hidden");
}

/**
 * Look again at the first of these parts, and the others with it, but not while somebody is in it.
 * @param {string[]} ids
 */
function lookAgain(ids) {
  const part = () => document.getElementById(ids[0]);
  if (part() === null) return;
  const refresh = refresher(ids, keepChosen);
  setInterval(() => {
    const shown = part();
    if (shown?.childElementCount && !shown.contains(document.activeElement)) refresh();
  }, OFTEN);
}

/**
 * Have chosen what is chosen now in what takes its place.
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
