/** Whether the bot of this page is here, what it plays now, and whether one may play against it. */

import { showConnection } from "../connection.js";
import { el, say } from "../dom.js";
import { theWire } from "../wire.js";
import { doing, follow } from "./presence.js";

const SHOWN = 5;

const wire = theWire();
const name = document.querySelector("#bot").dataset.bot.toLowerCase();
const now = document.querySelector("#now");
const challenge = document.querySelector("#challenge");
const watch = document.querySelector("#watch");

function show(bot, matches) {
  now.hidden = false;
  now.classList.toggle("live", bot !== undefined);
  say(now, bot === undefined ? "not here now" : doing(bot));
  challenge.hidden = bot === undefined || !(bot.seeks ?? []).some((seek) => seek.open);
  watch.hidden = matches.length === 0;
  const ids = matches.slice(0, SHOWN).map((match) => match.match);
  if (ids.join() === watch.dataset.shown) return;
  watch.dataset.shown = ids.join();
  watch.replaceChildren(
    ...matches.slice(0, SHOWN).map((match) => {
      const others = match.seats.filter((seat) => seat.toLowerCase() !== name).join(", ");
      return el("a", { href: `/matches/${encodeURIComponent(match.match)}` }, `Watch it against ${others} (${match.game})`);
    }),
  );
}

if (wire !== null) {
  showConnection(wire);
  follow(wire, ({ bots, matches }) => {
    const mine = matches.filter((match) => match.seats.some((seat) => seat.toLowerCase() === name));
    show(bots.find((bot) => bot.bot.toLowerCase() === name), mine);
  });
  wire.on("state", ({ name: state }) => {
    if (state !== "waiting" && state !== "stopped") return;
    now.hidden = challenge.hidden = watch.hidden = true;
  });
  wire.start();
}
