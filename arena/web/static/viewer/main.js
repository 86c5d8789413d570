/** The page of a match: from the store, or over the wire while it is played. */

import { el } from "../dom.js";
import { MatchDocument } from "./document.js";
import { follow } from "./following.js";
import { Viewer } from "./viewer.js";

const root = document.getElementById("viewer");
const id = root.dataset.match;
const api = `/api/v1/matches/${id}`;
const botAddress = (bot) => `/bots/${encodeURIComponent(bot)}`;

/** JSON from the API; null where there is none. */
async function asked(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  const body = await answer.json();
  if (answer.ok) return body;
  if (answer.status === 404 || answer.status === 400) return null;
  throw new Error(body.error?.message ?? `the page got no answer from ${address}`);
}

async function stored() {
  const found = await asked(api);
  if (!found) throw new Error(`there is no match ${id}`);
  const viewer = new Viewer(root, new MatchDocument(found), { botAddress });
  if (found.fault) root.prepend(el("p", { class: "banner lost" }, found.fault));
  const grades = await asked(`${api}/grades`).catch(() => null);
  if (grades) viewer.grade(grades);
}

function say(error) {
  root.replaceChildren(el("p", { class: "banner lost", role: "alert" }, error.message));
}

if ("stored" in root.dataset) stored().catch(say);
else if (!root.querySelector(".banner")) follow(root, id, { botAddress, asked: () => asked(api) });
