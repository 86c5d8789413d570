/** Light or dark: what the system says, until a visitor chooses; the choice is kept. */

const KEY = "arena.theme";
const root = document.documentElement;

function dark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function show(button) {
  button.setAttribute("aria-pressed", String(dark()));
}

const kept = localStorage.getItem(KEY);
if (kept === "light" || kept === "dark") root.dataset.theme = kept;

document.addEventListener("DOMContentLoaded", () => {
  const button = document.querySelector("#theme");
  button.hidden = false;
  show(button);
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem(KEY, root.dataset.theme);
    show(button);
  });
});
