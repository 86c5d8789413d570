/** The play page: the person's name, the choice of game, the search for opponents, and the match. */

import { GAMES, hasBoard } from "../board/index.js";
import { toHex } from "../check/hash.js";
import { showConnection } from "../connection-banner.js";
import { say } from "../dom.js";
import { markAccepted, useName, clearName, identity, isTaken, dropClaim } from "../identity.js";
import { openSocket } from "../arena-socket.js";
import { listed, sentence } from "../format.js";
import { gameTitle, poolTitle } from "../titles.js";
import { invitationIn, makeLink } from "./invitation.js";
import { Invited } from "./invited.js";
import { displayOf } from "./person-fields.js";
import { Offer } from "./seek-form.js";
import { hindrance, wishOf } from "./who-plays.js";
import { Table } from "./match.js";

const LIST_INTERVAL_MS = 3000; // ms
const NONCE_BYTES = 16;
const MAX_FAILURE = 200; // characters

const socket = openSocket();
if (socket !== null) play(socket);

/** @param {import("../arena-socket.js").ArenaSocket} socket */
function play(socket) {
  const usual = document.title;
  const boards = Promise.all(GAMES.map(hasBoard));
  const part = (id) => document.querySelector(`#${id}`);
  const games = JSON.parse(part("offers").textContent);
  const offer = new Offer(part("offer"), games, JSON.parse(part("strengths").textContent));
  const asked = new URLSearchParams(location.search);
  const invitation = invitationIn(asked, games);
  const isClosed = part("offer").dataset.closed !== undefined;
  const invited = invitation === null ? null : new Invited(part("invited"), invitation, wishOf(games, invitation.what), isClosed);
  let form = invited ?? offer; // the first that a person sees
  let table = null;
  let seek = null; // the current seek, or the one to send when the connection opens
  let seeks = 0;
  let recalling = null; // a match whose earlier events are requested

  const known = identity();
  if (known !== null) call(known.bot);

  const ways = {
    send: (message) => socket.send(message),
    entitle: (title) => (document.title = `${title} · Bot Arena`),
    graded: ({ game, preset }) => {
      const presets = games.find((one) => one.game === game)?.presets ?? [];
      return presets.find((known) => known.preset === preset)?.graded ?? "";
    },
    leave: () => {
      table.close();
      table = null;
      showForm();
      form.focus();
    },
    rematch: () => again(table.start, table.rivals),
    meet: (rival) => again(table.start, [rival]),
    fail: (error) => fail(table.start, table.hasChosen, error),
  };

  function show(name) {
    for (const id of ["offer", "invited", "search", "table"]) part(id).hidden = id !== name;
    say(part("title"), { table: table?.title, invited: invited?.title }[name] ?? "Play");
    if (name !== "table") document.title = usual;
  }

  function showForm() {
    show(form === offer ? "offer" : "invited");
  }

  /** Set the person's name in the forms. */
  function call(bot) {
    for (const each of [offer, form]) each.bot = bot;
  }

  /** Connect under the person's name, which may differ from the connection's. */
  function enter({ bot, token }) {
    const display = displayOf(bot);
    socket.start({ bot, token, follow: true, person: true, ...(display === "" ? {} : { display }) });
  }

  /** Seek what was just played. */
  function again({ game, preset, config, seats, seat }, opponents) {
    search({ bot: seats[seat].bot, what: { game, config: preset === undefined ? config : { preset } }, opponents });
  }

  /**
   * The page can't show a match. Where this person has not moved, the arena calls that off, and nobody is rated; else
   * it goes on, and another page may show it.
   */
  function fail({ match, game, resumed = false }, hasChosen, error) {
    console.error(error);
    const goesOn = resumed || hasChosen;
    const failure = `the page cannot show it: ${error.message}`.replace(/\p{C}/gu, " ").slice(0, MAX_FAILURE);
    if (!goesOn) socket.send({ type: "resign", match, failure });
    table?.close();
    table = null;
    showForm();
    const what = `This page can’t show your match of ${gameTitle(game)}`;
    say(part("failed"), goesOn ? `${what}, but the match is still running: reload the page.` : `${what}. The match is called off and not rated. Reload the page before you try again.`);
  }

  /** Why a game can't be played on this page; empty where it can. */
  async function wrongWithBoard(game) {
    if (await hasBoard(game)) return "";
    return `The board of ${gameTitle(game)} did not load, so no match was requested. Reload this page and try again.`;
  }

  /** Seek a match, if its board is there. */
  async function search(wanted) {
    const wrong = await wrongWithBoard(wanted.what.game);
    if (wrong === "") {
      seekMatch(wanted);
    } else {
      showForm();
      say(part("failed"), wrong);
    }
  }

  /** Seek a match; with `invites` one with a friend who gets a link, and with nobody else. */
  function seekMatch({ bot, token, what, opponents, invites = false }) {
    table?.close();
    table = null;
    seek = { type: "seek", id: `${Date.now()}-${++seeks}`, ...what, rated: !invites, slow: true, opponents, private: invites };
    const whom = invites ? "your friend" : opponents.length === 0 ? "an opponent" : listed(opponents);
    part("invitation").replaceChildren(...(invites ? [makeLink({ host: bot, what })] : []));
    say(part("searching"), `Waiting for ${whom} to play ${poolTitle(what.game, what.config.preset)} …`);
    say(part("absent"), "");
    show("search");
    (part("link") ?? part("give-up")).focus();
    const me = useName(bot, token);
    if (socket.welcome?.bot?.toLowerCase() === bot.toLowerCase()) {
      socket.send(seek);
      socket.send({ type: "list" });
    } else {
      enter(me);
    }
  }

  function giveUp(why = "") {
    if (seek !== null) socket.send({ type: "unseek", id: seek.id });
    seek = null;
    showForm();
    say(part("failed"), why);
    form.focus();
  }

  function sit(start) {
    seek = null;
    form = offer;
    if (table === null || table.match !== start.match || table.over) {
      table?.close();
      table = null;
      try {
        table = new Table(start, ways);
      } catch (error) {
        fail(start, false, error);
        return;
      }
      part("table").replaceChildren(table.element);
      say(part("failed"), "");
      show("table");
      part("title").focus(); // the element with the focus is hidden now
    }
    show("table");
    const nonce = toHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
    socket.send({ type: "ready", match: start.match, nonce });
    if (start.resumed) socket.send({ type: "watch", match: start.match });
  }

  /** Take all events so far from a spectator's `turn`: a returning seat only gets the latest ones. */
  function recall({ match, events }) {
    recalling = null;
    table.recall(events);
    socket.send({ type: "unwatch", match });
  }

  /** Handle messages of a match in order, once the boards are loaded. */
  function onMatch(type, hear) {
    socket.on(type, (message) => boards.then(() => hear(message)));
  }

  function ours(message) {
    return table !== null && message.match === table.match;
  }

  socket.on("welcome", ({ bot, resumed, elsewhere = [] }) => {
    if (table !== null && !table.over && !resumed.includes(table.match)) table.missed(elsewhere.length > 0);
    if (bot !== undefined && seek !== null && resumed.length === 0) socket.send(seek);
    if (bot !== undefined) {
      markAccepted(bot);
      call(bot);
      for (const each of [offer, form]) each.token.accept(bot);
    }
    socket.send({ type: "list" });
  });
  onMatch("start", (message) => (message.seat === undefined ? (recalling = message.match) : sit(message)));
  onMatch("turn", (message) => {
    if (!ours(message)) return;
    try {
      if (recalling === message.match) recall(message);
      table.turn(message);
    } catch (error) {
      fail(table.start, table.hasChosen, error);
    }
  });
  onMatch("rejected", (message) => ours(message) && table.rejected(message));
  onMatch("end", (message) => ours(message) && table.end(message));
  socket.on("error", ({ ref, message, fatal }) => {
    if (fatal) return; // the following state says it
    if (seek !== null && ref === seek.id) giveUp(sentence(message));
    else if (table !== null && ref === table.match) table.notice(message);
  });
  socket.on("listing", (listing) => {
    form.here(listing);
    table?.here(listing);
    if (seek !== null) say(part("absent"), hindrance(seek, wishOf(games, seek), socket.welcome.bot, listing, games));
  });
  socket.on("state", ({ name, reason, code, closed }) => {
    const replaced = closed === 4003;
    part("take-back").hidden = !replaced;
    if (name === "stopped" && closed === 4001) refuse(reason, code);
    else if (name === "stopped" && !replaced) giveUp(sentence(reason));
  });

  /** Show why the name was refused, and continue as a spectator. */
  function refuse(reason, code) {
    const bot = identity()?.bot ?? form.bot;
    const isTyped = form.token.value !== "";
    dropClaim(bot);
    clearName();
    seek = null;
    showForm();
    if (isTaken(code)) form.token.ask(bot);
    if (isTaken(code) && isTyped) form.token.wrong(`This is not the token of ${bot}.`);
    else form.wrong("bot", isTaken(code) ? `The name ${bot} is taken: choose another, or enter its token.` : sentence(reason));
    socket.start();
  }

  showConnection(socket);
  offer.onPlay = form.onPlay = search;
  offer.onForget = () => socket.start();
  offer.onInvite = (wanted) => search({ ...wanted, invites: true });
  part("give-up").addEventListener("click", () => giveUp());
  part("take-back").addEventListener("click", () => enter(identity()));
  // the title announces a rematch call, for visitors who look at another tab
  setInterval(() => (table === null ? !document.hidden : table.over) && socket.send({ type: "list" }), LIST_INTERVAL_MS);
  showForm();
  if (asked.has("from") && invitation === null)
    say(part("failed"), "This invitation link is incomplete: ask your friend to send it again, or choose another opponent.");
  if (known === null) socket.start();
  else enter(known);
}
