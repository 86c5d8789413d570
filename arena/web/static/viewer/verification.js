/** The record refereed again in this browser: a button, the progress, what was found. */

import { el, put, say } from "../dom.js";
import { counted } from "../format.js";

const AT_ONCE = 12; // ms of work between two pictures

export class Verification {
  /**
   * @param {object} record the match document, whole
   * @param {{found: (steps: Map<number, object[]>) => void, wrong: (at: number | null) => void}} then `found` when it is over
   */
  constructor(record, then) {
    this.record = record;
    this.then = then;
    this.button = el("button", { type: "button", onclick: () => this.run() }, "Verify in this browser");
    this.progress = el("progress", { max: Math.max(1, record.plies.length), value: 0, "aria-label": "verified so far", hidden: true });
    this.verdict = el("p", { role: "status", class: "verdict" });
    this.general = el("ul", { class: "now-steps" });
    this.details = el("details", { hidden: true }, el("summary", {}, "what opens the dice"), this.general);
    this.element = el("div", { class: "verification" }, this.button, this.progress, this.verdict, this.details);
  }

  /** Verify it all, or up to what is wrong. */
  async run() {
    put(this.button, "disabled", true);
    put(this.progress, "hidden", null);
    say(this.verdict, "");
    const { check } = await import("../check/check.js"); // most who look at a match do not verify it
    const steps = new Map();
    const general = [];
    let [wrong, pause] = [null, performance.now() + AT_ONCE];
    for await (const step of check(this.record)) {
      if (step.index === null) general.push(step);
      else steps.set(step.index + 1, [...(steps.get(step.index + 1) ?? []), step]);
      if (step.ok === false) wrong ??= step;
      if (performance.now() < pause) continue;
      this.progress.value = step.index ?? 0;
      await new Promise((resume) => setTimeout(resume));
      pause = performance.now() + AT_ONCE;
    }
    this.progress.value = this.progress.max;
    this.#tell(wrong, general, steps);
  }

  #tell(wrong, general, steps) {
    put(this.button, "disabled", null);
    put(this.progress, "hidden", true);
    put(this.details, "hidden", null);
    put(this.verdict, "class", wrong ? "verdict bad" : "verdict good");
    const number = wrong && (wrong.index ?? wrong.ply);
    const where = wrong && number !== null ? `Wrong at move ${number + 1}` : "Wrong";
    say(this.verdict, wrong ? `✗ ${where}: ${wrong.text}` : `✓ Verified: the seed, ${counted(this.record.plies.length, "event")} with all dice and digests, the result.`);
    this.general.replaceChildren(...general.map(stepItem));
    this.then.found(steps);
    const at = wrong && wrong.index !== null ? wrong.index + 1 : null;
    this.then.wrong(at);
  }
}

/**
 * A step of the check in a list.
 * @param {import("../check/check.js").Step} step
 */
export function stepItem({ ok, text }) {
  if (ok === null) return el("li", { class: "faint" }, text);
  return el("li", { class: ok ? "good" : "bad" }, `${ok ? "✓" : "✗"} ${text}`);
}
