/** The page for connecting bots: its code contains the typed name, and the token if this browser has it. */

import { complain, el, put, say } from "../dom.js";
import { markAccepted, claim, identity, isTaken, dropClaim, tokenOf, nameError } from "../identity.js";
import { arenaAddress, ArenaSocket } from "../arena-socket.js";
import "./copy-code.js";

const name = document.getElementById("bot");
const wrong = document.getElementById("bot-wrong");
const owning = document.getElementById("owning"); // exists only if names can be registered
const named = document.querySelector(".of-bot")?.textContent;
const unowned = owning?.textContent;
const game = document.getElementById("game");
const registering = el("button", { type: "button", class: "main" }, "Reserve it now");

if (named !== undefined) {
  if (name.value === "") name.value = suggested();
  say(name.form.querySelector("button"), "Its results"); // the code already follows the typed name
  name.addEventListener("input", show);
  name.form.addEventListener("submit", askAnew);
  registering.addEventListener("click", registerTyped);
  game.addEventListener("change", showGame);
  document.getElementById("choosing-game").hidden = false;
  showGame();
  if (owning !== null) name.form.querySelector("button").before(registering);
  show();
}

/** Suggest a name for the bot of a person who plays here: one name can't have two connections. */
function suggested() {
  const person = identity()?.bot;
  return person === undefined ? "" : `${person.slice(0, 28)}-bot`;
}

/** Have the form ask the arena again for the name that is shown: at its own address a browser would only scroll. */
function askAnew() {
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
}

/** Put the typed name into the code, with its token if this browser has it. */
function show() {
  const typed = name.value.trim();
  const bot = nameError(typed) === "" ? typed : named;
  const token = tokenOf(bot);
  for (const place of document.querySelectorAll(".of-bot")) say(place, bot);
  say(document.getElementById("token-in-code"), token === undefined ? "" : `, token="${token}"`);
  say(document.getElementById("token-in-command"), token === undefined ? "" : `ARENA_TOKEN=${token} `);
  put(registering, "hidden", token !== undefined && bot === typed);
  if (owning !== null) say(owning, token === undefined ? unowned : owned(bot));
}

/** Put the chosen game into the command and the code. */
function showGame() {
  for (const place of document.querySelectorAll(".of-game")) say(place, game.value);
}

function owned(bot) {
  return `This browser keeps the token of ${bot}. The code below contains it: keep that code secret.`;
}

/** Register the name now instead of at the program's first connection. */
async function registerTyped() {
  const bot = name.value.trim();
  complain(name, wrong, nameError(bot));
  if (wrong.textContent !== "") return;
  registering.disabled = true;
  say(owning, "Asking the arena …");
  const reason = await register(bot);
  registering.disabled = false;
  show();
  complain(name, wrong, reason);
}

/**
 * Register a name by a hello on a new connection, with a token that is stored before it is sent.
 * @param {string} bot
 * @returns {Promise<string>} the error as a sentence; empty on success
 */
function register(bot) {
  return new Promise((resolve) => {
    const token = claim(bot);
    const socket = new ArenaSocket(arenaAddress());
    const done = (reason) => {
      socket.stop();
      if (reason === "") markAccepted(bot);
      else dropClaim(bot);
      resolve(reason);
    };
    socket.on("welcome", () => done(""));
    socket.on("state", ({ name: state, reason, code }) => {
      if (state === "stopped" || state === "waiting") done(refusal(bot, code, reason));
    });
    socket.start({ bot, token });
  });
}

/** Return why a name could not be registered, as a sentence. */
function refusal(bot, code, reason) {
  if (isTaken(code)) return `The name ${bot} is taken: choose another.`;
  return `The name could not be registered: ${reason}.`;
}
