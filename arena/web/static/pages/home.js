/** The home page: the most watched live match, or a replay of the latest one, and the leaders, kept up to date. */

import { openSocket } from "../arena-socket.js";
import { endingOf } from "../board/ending-text.js";
import { hasBoard, knows } from "../board/index.js";
import { showConnection } from "../connection-banner.js";
import { poolTitle } from "../titles.js";
import { tellAgo } from "./ago.js";
import { follow, onReturn } from "./online-bots.js";
import { refresher } from "./refresh.js";
import { Replay, Stage } from "./stage.js";

const END_DISPLAY_MS = 6000; // ms for the end of a match before the next one is shown

const place = document.querySelector("#stage");
const stage = new Stage(place);
let replay = null;
let live = null; // the match on the stage, as in the listing

/** Replay the latest match, unless a live one is shown by then. */
async function replayLatest() {
  const match = place.dataset.replay;
  if (match === undefined) return;
  const answer = await fetch(`/api/v1/matches/${encodeURIComponent(match)}`).catch(() => null);
  const record = answer?.ok ? await answer.json().catch(() => null) : null; // the record may have been removed
  if (record === null) return;
  await hasBoard(record.header.game);
  if (live === null) replay = new Replay(stage, record);
}

/** Return the most watched match; of equals, the newest. */
function choose(matches) {
  const worth = ({ watchers = 0, started }) => [watchers, Date.parse(started)];
  const [best] = matches
    .filter(({ game }) => knows(game))
    .sort((one, other) => worth(other)[0] - worth(one)[0] || worth(other)[1] - worth(one)[1]);
  return best ?? null;
}

async function watch(socket, match) {
  live = match;
  replay?.stop();
  replay = null;
  stage.tell("Live now", match.match, poolTitle(match.game, match.preset));
  await hasBoard(match.game); // without it, the stage tells who plays
  socket.watch(match.match);
}

/** Follow the messages about the match on the stage. */
function follows(socket) {
  const ours = (then) => (message) => message.match === live?.match && then(message);
  let begun = null; // the `start` of the match on the stage
  let past = []; // its known events
  socket.on(
    "start",
    ours((start) => {
      begun = start;
      past = [];
      stage.begin(start.game, start);
    }),
  );
  socket.on(
    "turn",
    ours(({ state, events }) => {
      past = [...past, ...events];
      stage.show(state, past);
    }),
  );
  socket.on("gone", ours(() => (live = null)));
  socket.on(
    "end",
    ours((end) => {
      stage.show(end.state, [...past, ...end.events], true);
      stage.tell("Just over", end.match, endingOf(end, begun).headline, `at ${poolTitle(live.game, live.preset)}`);
      setTimeout(() => (live = null), END_DISPLAY_MS);
    }),
  );
}

const socket = openSocket();
if (socket === null) {
  replayLatest();
} else {
  let looked = false;
  const refresh = refresher(["leaders"], tellAgo);
  showConnection(socket);
  follows(socket);
  const told = ({ matches }) => {
    if (live !== null) return;
    const match = choose(matches);
    if (match !== null) watch(socket, match);
    else if (!looked) replayLatest();
    looked = true;
  };
  follow(socket, told, () => {});
  onReturn(socket, refresh);
  socket.on("end", refresh);
  socket.start();
}
