/** What the owner of a hosted bot does on its page: versions, reports, logs, pausing, games, a match now, an editor. */

import { complain, el, say } from "../dom.js";
import { forget, keepToken, readToken, tokenOf, wrongWithToken } from "../identity.js";
import { GAME_NAMES, gameData } from "../games.js";

const POLL_INTERVAL_MS = 1500; // between two looks at a check that is under way
const OPEN_STATES = ["waiting", "checking"];
const STATES = {
  waiting: "waits for its check",
  checking: "is being checked",
  passed: "passed its check",
  failed: "failed its check",
};
const STARTER = `from bots import Bot, run


class Mine(Bot):
    def choose(self, turn):
        return turn.legal[0]


run(Mine("mine"))
`;

/**
 * @typedef {object} Version
 * @property {number} number
 * @property {"waiting" | "checking" | "passed" | "failed"} state
 * @property {boolean} active
 * @property {string} submitted
 * @property {string[]} games those that it plays
 * @property {string[]} declared_games those that it was checked for
 * @property {string | null} file the name of its only file; null if a zip was handed in
 * @property {boolean} published
 * @property {string} report
 * @property {string[]} matches the games of the check whose matches can be saved
 */

const part = (name) => document.getElementById(`owner${name === "" ? "" : `-${name}`}`);
const bot = document.getElementById("bot").dataset.bot;
let token = tokenOf(bot);
let versions = /** @type {Version[]} */ ([]);
let paused = false;
let reported = null; // the number of the version whose report is shown; null for the newest
let isLoaded = false; // whether the editor has a text, or gets its first one
let loads = 0; // how often the editor was to get a text
let timer = 0; // of the next look at a check
let asked = 0; // how often the arena was asked for the versions
let shown = 0; // the question whose answer is shown: answers may come in another order
let trouble = ""; // why the last look at a check failed

part("").hidden = false;
part("sign-in").addEventListener("submit", signIn);
part("pause").addEventListener("click", () => attempt(() => change(`paused=${!paused}`)));
part("forget").addEventListener("click", signOut);
part("games").addEventListener("submit", acting(() => change(gamesQuery(checked("chosen")))));
part("match").addEventListener("submit", acting(play));
part("logs-form").addEventListener("submit", acting(listLogs));
part("file").addEventListener("submit", acting(handInFile));
part("editor").addEventListener("submit", acting(() => handIn(part("name").value.trim(), part("text").value)));
const linkedMatch = new URLSearchParams(location.hash.slice(1)).get("log"); // from the page of a match that led here
if (token !== undefined) {
  refresh().then(openPanel, (error) => {
    complain(part("token"), part("token-wrong"), sentence(error));
    askForToken();
  });
} else {
  askForToken();
}

/** Show whom the page of a match led here where the token goes. */
function askForToken() {
  if (linkedMatch === null) return;
  part("").open = true;
  part("token").focus();
}

/** Open what the owner sees, with the log of the match that led here. */
function openPanel() {
  part("").open = true;
  if (linkedMatch !== null) attempt(() => showLog(linkedMatch));
}

async function signIn(event) {
  event.preventDefault();
  const field = part("token");
  token = readToken(field.value);
  const wrong = wrongWithToken(token);
  complain(field, part("token-wrong"), wrong);
  if (wrong !== "") return;
  try {
    await refresh();
    keepToken(bot, token);
    field.value = "";
    part("pause").focus();
    openPanel();
  } catch (error) {
    complain(field, part("token-wrong"), sentence(error));
  }
}

function signOut() {
  forget(bot);
  clearTimeout(timer);
  shown = asked;
  token = undefined;
  part("panel").hidden = true;
  part("sign-in").hidden = false;
  part("token").focus();
}

/** Return a listener that does something instead of sending a form, and shows why it fails. */
function acting(act) {
  return (event) => {
    event.preventDefault();
    attempt(act);
  };
}

async function attempt(act) {
  say(part("wrong"), "");
  try {
    await act();
  } catch (error) {
    say(part("wrong"), sentence(error));
  }
}

function sentence(error) {
  const text = error instanceof TypeError ? "The arena does not answer." : error.message;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Ask the arena about this bot, and return the response. Throws an error with the arena's sentence if it refuses; its
 * `cause` is the status.
 */
async function ask(path, method = "GET", body = undefined) {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(`/api/v1/bots/${encodeURIComponent(bot)}/${path}`, { method, headers, body });
  if (response.ok) return response;
  const told = await response.json().catch(() => null);
  throw new Error(told?.error?.message ?? `the arena answers with status ${response.status}`, { cause: response.status });
}

async function refresh() {
  await askAndShow("submissions");
}

async function change(query) {
  await askAndShow(`hosting?${query}`, "POST");
}

/** Ask for the versions, and show them, unless a later question was answered earlier or the owner has signed out. */
async function askAndShow(path, method = "GET") {
  const question = ++asked;
  const told = await (await ask(path, method)).json();
  if (question < shown) return;
  shown = question;
  show(told);
}

/** Look at a check again; later once more if the arena does not answer or is restarting. */
async function look() {
  try {
    await refresh();
    if (part("wrong").textContent === trouble) say(part("wrong"), "");
  } catch (error) {
    trouble = sentence(error);
    say(part("wrong"), trouble);
    const isRefused = error.cause !== undefined && error.cause < 500;
    if (!isRefused) timer = setTimeout(look, POLL_INTERVAL_MS);
  }
}

function gamesQuery(games) {
  return new URLSearchParams((games.length > 0 ? games : [""]).map((game) => ["game", game])).toString();
}

async function play() {
  const opponent = part("opponent").value.trim();
  const query = new URLSearchParams({ opponent, game: part("game").value });
  say(part("started"), "");
  const { match } = await (await ask(`matches?${query}`, "POST")).json();
  const link = el("a", { href: `/matches/${encodeURIComponent(match)}` }, "its page");
  part("started").replaceChildren(`The match against ${opponent} starts when both bots are free: `, link);
}

/** List the newest logs, each with the faults of the program, and with the lines that have the text of the search. */
async function listLogs() {
  const search = part("search").value.trim();
  const { logs } = await (await ask(`logs?${new URLSearchParams({ search })}`)).json();
  const none = search === "" ? "Its program has written nothing, and did not fail." : "No log has this text.";
  say(part("found"), logs.length === 0 ? none : `${logs.length} ${logs.length === 1 ? "log" : "logs"}, the newest first:`);
  part("log-list").replaceChildren(
    ...logs.map(({ match, version, faults, lines }) => {
      const button = el("button", { type: "button", onclick: () => attempt(() => showLog(match)) }, `Log of ${match}`);
      const page = `/matches/${encodeURIComponent(match)}`;
      const told = [
        ...faults.map(({ ply, what }) => [el("a", { href: `${page}#ply=${ply}` }, `at ply ${ply}`), ` its program ${what}`]),
        ...lines.map((line) => [line]),
      ];
      const rows = told.map((row) => el("div", { class: "small" }, ...row));
      return el("li", {}, button, ` version ${version}, `, el("a", { href: page }, "its page"), ...rows);
    }),
  );
}

async function showLog(match) {
  const { version, text } = await (await ask(`logs/${encodeURIComponent(match)}`)).json();
  part("log-title").hidden = part("log").hidden = false;
  say(part("log-title"), `Match ${match}, version ${version}`);
  say(part("log"), text);
  part("log").focus();
}

async function handInFile() {
  const [file] = part("upload").files;
  await handIn(file.name, file);
  part("file").reset();
}

/** Hand a program in. A zip names its games itself. */
async function handIn(name, content) {
  const games = name.toLowerCase().endsWith(".zip") ? [] : checked("declared").map((game) => ["game", game]);
  const query = new URLSearchParams([["file", name], ...games]);
  const { number } = await (await ask(`submissions?${query}`, "POST", content)).json();
  reported = number;
  await refresh();
}

/** Show the versions, and look again while one of them is checked. */
function show(told) {
  ({ versions, paused } = told);
  part("sign-in").hidden = true;
  part("panel").hidden = false;
  const active = versions.find((version) => version.active);
  say(part("state"), stateOf(active));
  part("pause").hidden = active === undefined;
  say(part("pause"), paused ? "Resume" : "Pause");
  part("rows").replaceChildren(...versions.map(row));
  showReport();
  part("playing").hidden = active === undefined;
  if (active !== undefined) {
    offer("chosen", active.declared_games, active.games);
    fillSelect(active.games);
  }
  if (!isLoaded) attempt(() => loadFirst(active ?? versions[0]));
  clearTimeout(timer);
  if (versions.some(({ state }) => OPEN_STATES.includes(state))) timer = setTimeout(look, POLL_INTERVAL_MS);
}

function stateOf(active) {
  if (versions.length === 0) return "Nothing was handed in yet.";
  if (active === undefined) return "No version has passed its check yet.";
  const games = active.games.map(title).join(", ");
  return paused ? `Version ${active.number} is paused.` : `Version ${active.number} plays ${games}.`;
}

function title(game) {
  return gameData(game)?.title ?? game;
}

/** Show checkboxes of games. What the owner has ticked since stays as it is. */
function offer(place, games, ticked) {
  const offered = `${games}|${ticked}`;
  if (part(place).dataset.offered === offered) return;
  part(place).dataset.offered = offered;
  part(place).replaceChildren(
    ...games.map((game) => {
      const box = el("input", { type: "checkbox", value: game, checked: ticked.includes(game) });
      return el("label", {}, box, " ", title(game));
    }),
  );
}

function checked(place) {
  return [...part(place).querySelectorAll("input:checked")].map((box) => box.value);
}

function fillSelect(games) {
  const select = part("game");
  if (select.dataset.offered === String(games)) return;
  select.dataset.offered = String(games);
  select.replaceChildren(...games.map((game) => el("option", { value: game }, title(game))));
}

/** Make the row of a version. The focus stays on a button that is made anew. */
function row(version) {
  const { number, state, active, games, submitted, file, published } = version;
  const action = (text, act, id) => {
    const button = el("button", { type: "button", id, "aria-label": `${text} version ${number}` }, text);
    button.addEventListener("click", () => attempt(act));
    if (document.activeElement?.id === id) queueMicrotask(() => button.focus());
    return button;
  };
  const id = (what) => `owner-${what}-${number}`;
  const publish = () => ask(`submissions/${number}?published=${!published}`, "POST").then(refresh);
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, `Version ${number}`),
    el("td", { "data-label": "State" }, `${STATES[state]}${active ? (paused ? ", paused" : ", plays now") : ""}`),
    el("td", { "data-label": "Games" }, games.map(title).join(", ")),
    el("td", { "data-label": "Handed in" }, submitted.slice(0, 16).replace("T", " ")),
    el(
      "td",
      { "data-label": "Actions" },
      el(
        "div",
        { class: "row" },
        action("Report", () => showReportOf(number), id("report")),
        state === "passed" && !active ? action("Use", () => change(`version=${number}`), id("use")) : null,
        file === null ? null : action("Edit", () => load(version, true), id("edit")),
        action("Download", () => download(version), id("download")),
        action(published ? "Unpublish" : "Publish", publish, id("publish")),
      ),
    ),
  );
}

function showReportOf(number) {
  reported = number;
  showReport();
  part("report").focus();
}

function showReport() {
  const version = versions.find(({ number }) => number === reported) ?? versions[0];
  part("report-title").hidden = part("report").hidden = version === undefined;
  if (version === undefined) return;
  say(part("report-title"), `Version ${version.number} ${STATES[version.state]}`);
  const isOpen = OPEN_STATES.includes(version.state);
  part("replays").replaceChildren(...(isOpen ? [] : version.matches.map((game) => replayButton(version.number, game))));
  say(part("report"), version.report || (isOpen ? "No report yet." : "No remarks."));
}

function replayButton(number, game) {
  const act = async () => save(await ask(`submissions/${number}/matches/${encodeURIComponent(game)}`), `${bot}-${number}-${game}.html`);
  return el("button", { type: "button", onclick: () => attempt(act) }, `Save the match of ${title(game)}`);
}

async function fetchSource({ number }) {
  return await ask(`submissions/${number}/source`);
}

/** Load the source of a version into the editor when the page opens, again if that fails. */
async function loadFirst(version) {
  isLoaded = true;
  try {
    await load(version);
  } catch (error) {
    isLoaded = false;
    throw error;
  }
}

/**
 * Load the source of a version into the editor; without one of a single file, a program to begin with. It is not loaded
 * over that of another version that was asked for meanwhile, nor, unless it is asked for, over what is there.
 */
async function load(version, isAsked = false) {
  const order = ++loads;
  offer("declared", GAME_NAMES, version?.declared_games ?? GAME_NAMES.slice(0, 1));
  const isFile = version !== undefined && version.file !== null;
  const text = isFile ? await (await fetchSource(version)).text() : version === undefined ? STARTER : "";
  if (order !== loads || (!isAsked && part("text").value !== "")) return;
  part("name").value = isFile ? version.file : `${bot}.py`;
  part("text").value = text;
  if (isAsked) part("text").focus();
}

async function download(version) {
  await save(await fetchSource(version), version.file ?? `${bot}-${version.number}.zip`);
}

/** Save what the arena sent as a file. */
async function save(response, name) {
  const address = URL.createObjectURL(await response.blob());
  el("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
