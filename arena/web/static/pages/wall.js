/** The wall: as many live matches as fit, taking turns, and the leaderboards one after the other. */

import { openSocket } from "../arena-socket.js";
import { GAMES, hasBoard, isLoaded } from "../board/index.js";
import { showConnection } from "../connection-banner.js";
import { put, say } from "../dom.js";
import { ORIGIN, LOCAL_ADDRESS_WARNING } from "../own-address.js";
import { idleText } from "./idle-text.js";
import { follow } from "./online-bots.js";
import { refresher } from "./refresh.js";
import { WallMatch } from "./wall-match.js";

const MAX_BOARDS = 6; // maximum boards
const MIN_DISPLAY_MS = 20000; // ms for which a match keeps its place while others wait
const END_DISPLAY_MS = 5000; // ms for the end of a match
const LEADERBOARD_DISPLAY_MS = 15000; // ms for a leaderboard
const TICK_INTERVAL_MS = 500; // ms between two updates of clocks and places

const grid = document.querySelector("#boards");
const places = []; // {id, match: WallMatch or null before its start is known, since}
const seen = new Map(); // when each match left the wall
let under = []; // the running matches, newest first
let listing; // the last listing; null if the arena does not answer

/** Return the matches that wait for a place; those that never had one come first. */
function waiting() {
  const free = under.filter((id) => !places.some((place) => place.id === id));
  return free.sort((one, other) => (seen.get(one) ?? 0) - (seen.get(other) ?? 0));
}

function draw() {
  const elements = places.flatMap(({ match }) => (match === null ? [] : [match.element]));
  if (elements.length !== grid.children.length || elements.some((element, at) => grid.children[at] !== element))
    grid.replaceChildren(...elements);
  put(grid, "data-boards", elements.length);
  const isEmpty = elements.length === 0;
  if (isEmpty && listing !== undefined) {
    const { title, told } = idleText(listing);
    say(document.querySelector("#nothing-title"), title);
    say(document.querySelector("#nothing-told"), told);
  }
  document.querySelector("#nothing").hidden = !isEmpty;
  document.querySelector("#join").hidden = isEmpty;
}

/** @param {import("../arena-socket.js").ArenaSocket} socket */
function show(socket) {
  const placeOf = (id) => places.find((place) => place.id === id);

  function fill() {
    for (const id of waiting().slice(0, MAX_BOARDS - places.length)) {
      places.push({ id, match: null, since: performance.now() });
      socket.watch(id);
    }
    draw();
  }

  function clear(place) {
    place.match?.close();
    const at = places.indexOf(place);
    if (at < 0) return;
    seen.set(place.id, performance.now());
    const [next] = waiting().filter((id) => id !== place.id);
    places.splice(at, 1, ...(next === undefined ? [] : [{ id: next, match: null, since: performance.now() }]));
    if (next !== undefined) socket.watch(next);
    fill();
  }

  /** Replace the match that has been shown longest, if others wait. */
  function rotate() {
    const now = performance.now();
    const [oldest] = places.filter(({ match }) => match !== null && !match.over).sort((one, other) => one.since - other.since);
    if (oldest === undefined || places.length < MAX_BOARDS || waiting().length === 0 || now - oldest.since < MIN_DISPLAY_MS) return;
    socket.unwatch(oldest.id);
    clear(oldest);
  }

  function ended(id) {
    under = under.filter((other) => other !== id);
    seen.delete(id);
    const place = placeOf(id);
    if (place === undefined) return;
    if (place.match === null) clear(place);
    else setTimeout(() => clear(place), END_DISPLAY_MS);
  }

  socket.on("start", (start) => {
    const place = placeOf(start.match);
    if (place === undefined) {
      if (isLoaded(start.game) && !under.includes(start.match)) under.unshift(start.match);
      fill();
      return;
    }
    place.match?.close();
    place.match = new WallMatch(start);
    draw();
  });
  socket.on("turn", (turn) => placeOf(turn.match)?.match?.turn(turn));
  socket.on("end", (end) => {
    placeOf(end.match)?.match?.end(end);
    ended(end.match);
  });
  socket.on("gone", ({ match }) => {
    const place = placeOf(match);
    under = under.filter((other) => other !== match);
    if (place !== undefined && !place.match?.over) clear(place);
  });
  follow(
    socket,
    (told) => {
      listing = told;
      const { matches } = told;
      under = matches.filter(({ game }) => isLoaded(game)).map(({ match }) => match);
      for (const id of seen.keys()) if (!under.includes(id)) seen.delete(id);
      fill();
    },
    () => {
      listing = null;
      draw();
    },
  );
  setInterval(() => {
    for (const { match } of places) match?.tick();
    rotate();
  }, TICK_INTERVAL_MS);
  showConnection(socket);
  socket.watch("*");
  socket.start();
}

/** Show one leaderboard of a page: the named one, or the first. */
function turnTo(page, pool) {
  const boards = [...page.querySelectorAll("#leaders > section")];
  const shown = boards.find((board) => board.dataset.pool === pool) ?? boards[0];
  for (const board of boards) board.hidden = board !== shown;
}

function shownPool() {
  return document.querySelector("#leaders > section:not([hidden])").dataset.pool;
}

function nextPool() {
  const pools = [...document.querySelectorAll("#leaders > section")].map((board) => board.dataset.pool);
  return pools[(pools.indexOf(shownPool()) + 1) % pools.length];
}

for (const place of document.querySelectorAll(".address")) say(place, ORIGIN + place.dataset.path.replace(/\/$/, ""));
const socket = openSocket();
if (socket !== null) {
  await Promise.all(GAMES.map(hasBoard)); // matches of a game whose board does not load are not shown
  const refresh = refresher(["leaders"], (fresh) => turnTo(fresh, shownPool()));
  say(document.querySelector("#here-alone"), LOCAL_ADDRESS_WARNING);
  socket.on("end", refresh);
  socket.on("welcome", refresh); // matches may have ended unnoticed while the boards were loading
  show(socket);
}
setInterval(() => turnTo(document, nextPool()), LEADERBOARD_DISPLAY_MS);
