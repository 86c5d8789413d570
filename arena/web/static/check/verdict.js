// The verdict of a verification, limited to what its steps have checked.

import { gameData } from "../games.js";
import { short } from "./step-text.js";

/**
 * @typedef {object} Verdict
 * @property {"good" | "bad" | "partial"} kind
 * @property {string} text what was checked, or what is wrong
 * @property {string} limits what the verification takes on trust, or does not check
 */

/**
 * @param {object} document the match document that was checked
 * @param {import("./check.js").Step[]} steps all findings
 * @returns {Verdict}
 */
export function verdictOf(document, steps) {
  const wrong = steps.find(({ ok }) => ok === false);
  if (wrong) return { kind: "bad", text: tellWrong(wrong), limits: "" };
  if (!document.footer) return { kind: "partial", text: `Not verified. ${steps[0].text}`, limits: "" };
  const { header, plies } = document;
  const digests = countChecked(steps, "digest");
  const [seed, chain] = ["The seed is the one that was committed to", `${counted(digests, "digest")} form a chain`];
  if (!steps.some(isResult)) return { kind: "partial", text: tellUnrefereed(header, plies, steps), limits: limitsOf(document, steps) };
  const thrown = steps.filter(({ what, detail }) => what === "dice" || what === "deal" || detail?.drawn).length;
  const chance = thrown ? `, with ${counted(thrown, "throw or deal", "throws and deals")} of that seed` : ", without any dice";
  const isSame = header.rules?.digest === gameData(header.game)?.digest;
  const rules = isSame ? `the rules of ${header.game}` : `other rules of ${header.game} than the match was made with`;
  const refereed = `${counted(plies.length, "event")} and the result follow by ${rules}${chance}`;
  return { kind: "good", text: `Verified: ${refereed}. ${seed}, and ${chain}.`, limits: limitsOf(document, steps) };
}

/** Say in one line what was checked of a match whose rules this page does not know, and what was not. */
function tellUnrefereed({ game, match }, plies, steps) {
  const [digests, turns, draws] = ["digest", "turn", "deal"].map((checked) => countChecked(steps, checked));
  const checked = [
    "that the seed is the one that was committed to",
    ...(digests ? [`that ${counted(digests, "digest")} form a chain`] : []),
    ...(turns ? [`whose turn it was in ${counted(turns, "event")}`] : []),
    ...(draws ? [`${counted(draws, "draw")} of that seed`] : []),
  ];
  const chance = draws ? "other dice" : "dice";
  const hasStates = plies.every(({ state }) => state);
  const why = hasStates ? "some digests, because a browser can't compute with their numbers" : "digests, because this arena gives no states without the rules";
  const stateless = plies.length > digests ? `, and ${why}` : "";
  const where = `arena replay verify ${match} checks them where the rules are installed`;
  return (
    `No move was refereed: this page does not know the rules of ${game}. ` +
    `Checked: ${checked.join(", ")}. Not checked: moves, ${chance}, the result${stateless}; ${where}.`
  );
}

/** Count the events of which something was checked and is right. */
function countChecked(steps, checked) {
  return steps.filter(({ what, index, ok }) => what === checked && index !== null && ok).length;
}

/** Return whether a step is that of the result, which exists if the match was refereed to its end. */
function isResult({ what, index }) {
  return what === "end" && index === null;
}

function tellWrong({ index, ply, text }) {
  const number = index ?? ply;
  return `${number === null ? "Wrong" : `Wrong at move ${number + 1}`}: ${text}`;
}

function limitsOf({ header, plies, footer }, steps) {
  const isBelieved = ({ event: { out } }) => out !== undefined && out !== "illegal"; // an exclusion for illegal moves follows from the strikes
  const left = plies.filter(isBelieved).map(({ event: { seat, out } }) => `that seat ${seat + 1} left (${out})`);
  const strikes = steps.filter(({ what }) => what === "strikes").length;
  const believed = [
    ...left,
    ...(strikes ? [`${counted(strikes, "strike")} for refused moves`] : []),
    ...(footer.reason === "void" ? ["that the match was called off"] : []),
  ];
  const taken = believed.length ? `Taken on the arena's word: ${believed.join(", ")}. ` : "";
  const unseen = `Not checked: times, the bots' notes on their thinking${header.pool ? ", ratings" : ""}.`;
  return `${taken}${unseen} This is the match that was played if its last digest, ${short(footer.digest)}, is the one that the players got.`;
}

function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}
