/** The page of a bot: whether it is online, what it plays, and a link to challenge it. */

import { showConnection } from "../connection-banner.js";
import { el, say } from "../dom.js";
import { openSocket } from "../arena-socket.js";
import { poolTitle } from "../titles.js";
import { doing, follow } from "./online-bots.js";

const MAX_MATCHES = 5;

const socket = openSocket();
const name = document.querySelector("#bot").dataset.bot.toLowerCase();
const now = document.querySelector("#now");
const challenge = document.querySelector("#challenge");
const watch = document.querySelector("#watch");

/** Show the bot's state. In a shortened listing, an unlisted bot's state is unknown. */
function show(bot, matches, isListed) {
  now.hidden = !isListed;
  now.classList.toggle("live", bot !== undefined);
  say(now, bot === undefined ? "offline" : doing(bot));
  challenge.hidden = bot === undefined;
  watch.hidden = matches.length === 0;
  const shown = matches.slice(0, MAX_MATCHES);
  const ids = shown.map((match) => match.match).join();
  if (ids === watch.dataset.shown) return;
  watch.dataset.shown = ids;
  watch.replaceChildren(
    ...shown.map((match) => {
      const others = match.seats.filter((seat) => seat.toLowerCase() !== name).join(", ");
      return el("a", { href: `/matches/${encodeURIComponent(match.match)}` }, `Watch it live against ${others} in ${poolTitle(match.game, match.preset)}`);
    }),
  );
}

if (socket !== null) {
  showConnection(socket);
  const told = ({ bots, matches, more_bots: moreBots = 0 }) => {
    const mine = matches.filter((match) => match.seats.some((seat) => seat.toLowerCase() === name));
    const bot = bots.find((each) => each.bot.toLowerCase() === name);
    show(bot, mine, bot !== undefined || moreBots === 0);
  };
  follow(socket, told, () => (now.hidden = challenge.hidden = watch.hidden = true));
  socket.start();
}
