/** The page of matches: running ones above finished ones, both kept up to date. */

import { showConnection } from "../connection-banner.js";
import { el, say } from "../dom.js";
import { openSocket } from "../arena-socket.js";
import { counted } from "../format.js";
import { poolTitle } from "../titles.js";
import { tellAgo } from "./ago.js";
import { follow, onReturn } from "./online-bots.js";
import { refresher } from "./refresh.js";

const MAX_SHOWN_MATCHES = 6; // matches shown before a visitor asks for all, so that the page does not move at every start and end

const socket = openSocket();
const place = document.querySelector("#live-matches");
const nothing = document.querySelector("#nothing-live");
const more = document.querySelector("#more-live");
const cards = new Map();
let under = [];
let left = 0;
let all = false;

/** Return the card of a match in the listing. */
function card(match) {
  const known = cards.get(match.match);
  const made = known ?? { element: el("li"), facts: el("p") };
  if (known === undefined) {
    const names = match.seats.join(match.seats.length === 2 ? " against " : ", ");
    made.element.append(el("a", { href: `/matches/${encodeURIComponent(match.match)}` }, names), made.facts);
    cards.set(match.match, made);
  }
  const facts = [poolTitle(match.game, match.preset)];
  if (!match.rated) facts.push("unrated");
  if (match.ply !== undefined) facts.push(counted(match.ply, "move"));
  if (match.watchers > 0) facts.push(`${match.watchers} watching`);
  say(made.facts, facts.join(" · "));
  return made.element;
}

function draw() {
  const shown = all ? under : under.slice(0, MAX_SHOWN_MATCHES);
  const elements = shown.map(card);
  if (elements.length !== place.children.length || elements.some((element, at) => place.children[at] !== element)) {
    const focused = document.activeElement;
    place.replaceChildren(...elements);
    if (place.contains(focused)) focused.focus({ preventScroll: true });
  }
  const ids = new Set(shown.map((match) => match.match));
  for (const id of [...cards.keys()]) if (!ids.has(id)) cards.delete(id);
  place.hidden = under.length === 0;
  nothing.hidden = under.length > 0;
  say(nothing, "No live match right now.");
  more.hidden = under.length <= MAX_SHOWN_MATCHES;
  say(more, all ? "Show fewer" : `Show all ${under.length}${left > 0 ? ` of ${under.length + left}` : ""}`);
}

if (socket !== null) {
  const first = !new URLSearchParams(location.search).get("after");
  const refresh = refresher(["results", "found"], tellAgo);
  showConnection(socket);
  const told = ({ matches, more_matches = 0 }) => {
    under = matches;
    left = more_matches;
    draw();
  };
  follow(socket, told, () => {
    told({ matches: [] });
    say(nothing, "Live matches cannot be shown: the arena does not answer.");
  });
  socket.on("start", ({ match, game, preset, rated, seats }) => {
    if (under.some((other) => other.match === match)) return;
    under = [{ match, game, preset, rated, seats: seats.map((seat) => seat.bot) }, ...under];
    draw();
  });
  socket.on("end", ({ match }) => {
    under = under.filter((other) => other.match !== match);
    draw();
  });
  if (first) {
    socket.on("end", refresh);
    onReturn(socket, refresh);
  }
  more.addEventListener("click", () => {
    all = !all;
    draw();
  });
  socket.watch("*");
  socket.start();
}
