/** The viewer in a file of its own, which contains the match and its grades. */

import { hasBoardOfRecord } from "../board/index.js";
import { MatchDocument } from "./document.js";
import { Viewer } from "./viewer.js";

const held = (id) => {
  const script = document.getElementById(id);
  return script ? JSON.parse(script.textContent) : null;
};

const root = document.getElementById("viewer");
const match = new MatchDocument(held("match-document"));
await hasBoardOfRecord(match.header);
const viewer = new Viewer(root, match, { details: document.getElementById("details") });
const grades = held("match-grades");
if (grades) viewer.grade(grades);
