/** The operator's pages: names from a file into the form, and a tournament that goes on looked at again. */

import { el } from "../dom.js";
import { refresher } from "./refresh.js";

const OFTEN = 3000; // ms; the refresher adds its rest

const place = document.querySelector("#from-file");
const names = /** @type {HTMLTextAreaElement | null} */ (document.querySelector("#names"));
if (place !== null && names !== null) {
  const file = /** @type {HTMLInputElement} */ (el("input", { type: "file", id: "file", accept: ".csv,.txt,text/csv,text/plain" }));
  file.addEventListener("change", async () => {
    if (file.files?.[0]) names.value = await file.files[0].text();
  });
  place.append(el("label", { for: "file" }, "Or take them from a file:"), file);
  place.removeAttribute("hidden");
}

const underWay = document.querySelector("#under-way");
if (underWay !== null) {
  const refresh = refresher(["under-way"]);
  setInterval(() => {
    const place = document.querySelector("#under-way");
    // what is being pressed stays where it is
    if (place?.childElementCount && !place.contains(document.activeElement)) refresh();
  }, OFTEN);
}
