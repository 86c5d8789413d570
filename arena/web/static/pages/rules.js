/** The page of a game's rules: draws the positions and example moves of the text as boards. */

import { boardClass, hasBoard, isLoaded, makeBoard } from "../board/index.js";
import { IllegalMove, loadRules } from "../check/rules.js";
import { el } from "../dom.js";
import { ToldDice } from "../viewer/states.js";

const NAMES = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Finn"];

const article = document.getElementById("rules");
const { game } = article.dataset;
const config = JSON.parse(document.getElementById("config").textContent);
const [rules] = await Promise.all([loadRules({ game, config }).catch(() => undefined), hasBoard(game)]); // no rules for a game that only the server can referee
const seats = NAMES.slice(0, rules?.seats ?? 2).map((bot) => ({ bot }));

/** Return the examples of the text: JSON after a bold word, with their paragraphs. */
function examples() {
  const found = [];
  for (const paragraph of article.querySelectorAll("p")) {
    const [label, code] = paragraph.children;
    const isExample = label?.tagName === "STRONG" && label === paragraph.firstChild && code?.textContent.startsWith("{");
    if (isExample) found.push({ value: JSON.parse(code.textContent), paragraph });
  }
  return found;
}

function picture(state, view, caption) {
  const board = makeBoard(game, { config, seats });
  board.show(state, view);
  return el("figure", { class: "example" }, board.element, el("figcaption", {}, caption));
}

async function draw() {
  if (!isLoaded(game)) return; // the text is there without pictures
  const [first, ...moves] = examples();
  if (first === undefined) return; // a game of one file may have no text
  let state = { ...first.value, seat: first.value.to_move };
  document.getElementById("picture").replaceChildren(picture(first.value, {}, "The example position of the rules below."));
  for (const { value: move, paragraph } of rules && !Array.isArray(state.to_move) ? moves : []) {
    const { dice, hasPicture, goesOn } = boardClass(game).exampleOf(move);
    try {
      const { state: after, event } = await rules.play(state, move, new ToldDice({ dice }));
      if (!hasPicture) continue;
      const past = [...boardClass(game).eventsBefore(state), event];
      paragraph.after(picture(rules.wire?.(after) ?? after, { event, before: state, past }, `After it: ${boardClass(game).eventText(config, event, seats)}.`));
      if (goesOn) state = after;
    } catch (error) {
      if (!(error instanceof IllegalMove)) throw error; // this example belongs to another position
    }
  }
}

draw();
