/** Light or dark mode: that of the system until a visitor chooses; the choice is stored. */

const KEY = "arena.theme";
const root = document.documentElement;

function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is disabled: the choice lasts for this page
  }
}

function choose(theme) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
}

choose(kept());

document.addEventListener("DOMContentLoaded", () => {
  const select = document.querySelector("#theme");
  if (select === null) return;
  select.value = root.dataset.theme ?? "system";
  select.closest("label").hidden = false;
  select.addEventListener("change", () => {
    choose(select.value);
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      // storage is disabled
    }
  });
});

addEventListener("storage", ({ key, newValue }) => {
  if (key === KEY) choose(newValue);
});
