/** The viewer in a file of its own: the match and its grades are in the page. */

import { MatchDocument } from "./document.js";
import { Viewer } from "./viewer.js";

const held = (id) => {
  const script = document.getElementById(id);
  return script ? JSON.parse(script.textContent) : null;
};

const root = document.getElementById("viewer");
const viewer = new Viewer(root, new MatchDocument(held("match-document")), { details: document.getElementById("details") });
const grades = held("match-grades");
if (grades) viewer.grade(grades);
