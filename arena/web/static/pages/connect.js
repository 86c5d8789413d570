/** The page on which bots are connected: code to copy, and a name registered over the wire, with a new token. */

import { complain, el } from "../dom.js";
import { isTaken, newToken, wrongWith } from "../identity.js";
import { arenaAddress, ArenaSocket } from "../arena-socket.js";

const COPIED = 2000; // ms for which a button says so

for (const code of document.querySelectorAll("pre > code")) addCopy(code);
const place = document.getElementById("registering");
if (place !== null) place.append(registering(place.dataset.bot));

/** Put a button beside some code that copies it. */
function addCopy(code) {
  const word = el("span", {}, "Copy");
  const button = el("button", { type: "button" }, word, el("span", { class: "quiet" }, ` ${code.dataset.what}`));
  let timer = 0;
  button.addEventListener("click", async () => {
    word.textContent = (await copy(code)) ? "Copied" : "Press Ctrl-C:";
    clearTimeout(timer);
    timer = setTimeout(() => (word.textContent = "Copy"), COPIED);
  });
  const pre = code.parentElement;
  const box = el("div", { class: "code" });
  pre.replaceWith(box);
  box.append(pre, button);
}

/**
 * Copy the text of an element; where the browser does not let a page do that, select it.
 * @returns {Promise<boolean>} whether it is copied
 */
async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(element); // a page without encryption may not ask for the clipboard
    return document.execCommand("copy");
  }
}

/** The form that registers a name. */
function registering(bot) {
  const name = el("input", { id: "new-name", value: bot, autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: 64, "aria-describedby": "new-name-wrong" });
  const wrong = el("span", { class: "wrong", id: "new-name-wrong" });
  const button = el("button", { class: "main" }, "Register it");
  const told = el("div", { role: "status" });
  const form = el(
    "form",
    { "aria-label": "Register a name", novalidate: true },
    el(
      "div",
      { class: "fields" },
      el("div", { class: "field" }, el("label", { for: "new-name" }, "Name to register"), name, wrong),
    ),
    el("div", { class: "row" }, button),
    told,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    complain(name, wrong, wrongWith(name.value.trim()));
    if (wrong.textContent !== "") return;
    button.disabled = true;
    told.replaceChildren(el("p", { class: "faint" }, "Asking the arena …"));
    const { token, reason, bot: registered } = await register(name.value.trim());
    button.disabled = false;
    told.replaceChildren(...(token === undefined ? [] : shown(registered, token)));
    complain(name, wrong, reason ?? "");
  });
  return form;
}

/**
 * Register a name by the first hello of a connection of its own, with a token that is made here.
 * @param {string} bot
 * @returns {Promise<{bot?: string, token?: string, reason?: string}>}
 */
function register(bot) {
  return new Promise((resolve) => {
    const token = newToken();
    const socket = new ArenaSocket(arenaAddress());
    const done = (answer) => {
      socket.stop();
      resolve(answer);
    };
    socket.on("welcome", (welcome) => done({ bot: welcome.bot, token }));
    socket.on("state", ({ name, reason, code }) => {
      if (name === "stopped" || name === "waiting") done({ reason: refusal(bot, code, reason) });
    });
    socket.start({ bot, token });
  });
}

/** Why a name could not be registered, in a sentence. */
function refusal(bot, code, reason) {
  if (isTaken(code)) return `Somebody owns the name ${bot} already: choose another.`;
  return `It could not be registered: ${reason}.`;
}

/** The new token, and what to do with it. */
function shown(bot, token) {
  const code = el("code", { id: "token", "data-what": "the token" }, token);
  const pre = el("pre", { class: "token", tabindex: "0" }, code);
  const inCommand = document.getElementById("token-in-command");
  if (bot === place.dataset.coded) inCommand.textContent = `ARENA_TOKEN=${token} `;
  const nodes = [
    el("p", {}, el("strong", {}, `${bot} is yours.`), " This is its token. It is shown once and kept nowhere: save it now."),
    el("div", {}, pre),
    el("p", {}, "Keep it where only you can read it, and give it to the program in ", el("code", {}, "ARENA_TOKEN"), "."),
  ];
  addCopy(code);
  return nodes;
}
