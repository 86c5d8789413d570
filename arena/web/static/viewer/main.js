/** The page of a match: from the store, or live over the wire. */

import { fetchJson, gradesAddress, matchAddress } from "../api.js";
import { hasBoardOfRecord } from "../board/index.js";
import { el } from "../dom.js";
import { identity } from "../identity.js";
import { MatchDocument } from "./document.js";
import { Viewer } from "./viewer.js";

const root = document.getElementById("viewer");
const id = root.dataset.match;
const api = matchAddress(id);
const asked = new URLSearchParams(location.search).get("bot"); // from the list of a bot's matches that led here
const rulesOf = ({ game }) => `/rules/${encodeURIComponent(game)}`;
const botAddress = (bot) => `/bots/${encodeURIComponent(bot)}`;

/** Return the URLs of the bots' pages, which may have been renamed since the record. */
function addressesNow(record) {
  const now = JSON.parse(root.dataset.bots);
  const named = new Map(record.header.seats.map((seat, at) => [seat.bot, now[at]]));
  return (bot) => botAddress(named.get(bot) ?? bot);
}

/** Return the seat of a bot by its present name; null if it has none. */
function seatOf(name) {
  const seat = JSON.parse(root.dataset.bots).findIndex((bot) => bot.toLowerCase() === name?.toLowerCase());
  return seat < 0 ? null : seat;
}

async function show() {
  const found = await fetchJson(api);
  await hasBoardOfRecord(found.header); // without a picture the moves are still worth reading
  const details = document.getElementById("details");
  const options = { botAddress: addressesNow(found), rules: rulesOf(found.header), details, mine: seatOf(identity()?.bot), of: seatOf(asked) };
  const viewer = new Viewer(root, new MatchDocument(found), options);
  if (found.fault && !document.getElementById("missing-rules")) root.prepend(el("p", { class: "banner lost" }, found.fault));
  const { graded } = root.dataset;
  if (graded === undefined || found.fault) return;
  const grade = async (seat) => viewer.grade(await fetchJson(gradesAddress(id, graded, seat)));
  try {
    if (graded === "estimated" && options.mine === null) await viewer.offerGrades(grade);
    else await grade(options.mine);
  } catch (error) {
    root.append(el("p", { class: "banner warn", role: "status" }, `The moves could not be graded: ${error.message}`));
  }
}

function say(error) {
  root.replaceChildren(el("p", { class: "banner lost", role: "alert" }, error.message));
}

async function watch() {
  const { follow } = await import("./follow-match.js"); // a stored match does not need the connection and the rules
  follow(root, id, { botAddress, rulesOf, stored: () => fetchJson(api).catch(() => null) });
}

("stored" in root.dataset ? show() : watch()).catch(say);
