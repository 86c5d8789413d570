/** The leaderboard, live: new ratings when matches end, and who is online. */

import { showConnection } from "../connection-banner.js";
import { el } from "../dom.js";
import { openSocket } from "../arena-socket.js";
import { doing, follow, onReturn } from "./online-bots.js";
import { refresher } from "./refresh.js";

const socket = openSocket();
let here = new Map();

function mark(page) {
  for (const row of page.querySelectorAll("#board tr[data-bot]")) {
    const bot = here.get(row.dataset.bot.toLowerCase());
    const place = row.querySelector("td.now");
    const word = bot === undefined ? "" : doing(bot);
    if (place.textContent !== word) place.replaceChildren(...(word ? [el("span", { class: "badge live" }, word)] : []));
  }
}

if (socket !== null) {
  const refresh = refresher(["board", "caption", "games"], mark);
  showConnection(socket);
  const told = ({ bots }) => {
    here = new Map(bots.map((bot) => [bot.bot.toLowerCase(), bot]));
    mark(document);
  };
  follow(socket, told, () => told({ bots: [] }));
  onReturn(socket, refresh);
  socket.on("end", refresh);
  socket.watch("*");
  socket.start();
}
