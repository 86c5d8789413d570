/** Adds a copy button to each code block. */

import { copied } from "../clipboard.js";
import { el } from "../dom.js";

const COPIED_LABEL_MS = 2000; // ms for which the button shows that it copied

for (const code of document.querySelectorAll("pre > code[data-what]")) addCopy(code);

/**
 * Add a copy button to some code, labelled by its `data-what`.
 * @param {HTMLElement} code
 */
function addCopy(code) {
  const word = el("span", {}, "Copy");
  const button = el("button", { type: "button" }, word, el("span", { class: "quiet" }, ` ${code.dataset.what}`));
  let timer = 0;
  button.addEventListener("click", async () => {
    word.textContent = (await copied(code.textContent, () => getSelection().selectAllChildren(code))) ? "Copied" : "Press Ctrl-C:";
    clearTimeout(timer);
    timer = setTimeout(() => (word.textContent = "Copy"), COPIED_LABEL_MS);
  });
  const pre = code.parentElement;
  const box = el("div", { class: "code" });
  pre.replaceWith(box);
  box.append(pre, button);
}
