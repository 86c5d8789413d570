/** The page of a match: from the store, or over the wire while it is played. */

import { el } from "../dom.js";
import { MatchDocument } from "./document.js";
import { follow } from "./follow-match.js";
import { Viewer } from "./viewer.js";

const root = document.getElementById("viewer");
const id = root.dataset.match;
const api = `/api/v1/matches/${encodeURIComponent(id)}`;
const rulesOf = ({ game }) => `/rules/${encodeURIComponent(game)}`;
const botAddress = (bot) => `/bots/${encodeURIComponent(bot)}`;

/** Where bots are now that a record may call otherwise, by the names of the result, in seat order. */
function addressesNow(record) {
  const now = JSON.parse(root.dataset.bots);
  const named = new Map(record.header.seats.map((seat, at) => [seat.bot, now[at]]));
  return (bot) => botAddress(named.get(bot) ?? bot);
}

/** JSON from the API. Throws what the API says is wrong. */
async function asked(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } }).catch(() => null);
  const body = await answer?.json().catch(() => null); // something between us and the API may answer in its own words
  if (!body || !answer.ok) throw new Error(body?.error?.message ?? `the page got no answer from ${address}`);
  return body;
}

async function show() {
  const found = await asked(api);
  const details = document.getElementById("details");
  const viewer = new Viewer(root, new MatchDocument(found), { botAddress: addressesNow(found), rules: rulesOf(found.header), details });
  if (found.fault) root.prepend(el("p", { class: "banner lost" }, found.fault));
  if (!("graded" in root.dataset) || found.fault) return;
  try {
    viewer.grade(await asked(`${api}/grades`));
  } catch (error) {
    root.append(el("p", { class: "banner warn", role: "status" }, `The grades of the moves did not come: ${error.message}`));
  }
}

function say(error) {
  root.replaceChildren(el("p", { class: "banner lost", role: "alert" }, error.message));
}

if ("stored" in root.dataset) show().catch(say);
else follow(root, id, { botAddress, rulesOf, stored: () => asked(api).catch(() => null) });
