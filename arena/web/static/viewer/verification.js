/** The record refereed again in this browser: a button, the progress, what was found. */

import { el, put, say } from "../dom.js";

const AT_ONCE = 12; // ms of work between two pictures
const MARKS = { good: "✓ ", bad: "✗ ", partial: "" };

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
    this.limits = el("p", { class: "faint small limits" });
    this.general = el("ul", { class: "now-steps" });
    this.details = el("details", { hidden: true }, el("summary", {}, "steps that concern the whole match"), this.general);
    this.element = el("div", { class: "verification" }, this.button, this.progress, this.verdict, this.limits, this.details);
  }

  /** Verify it all, or up to what is wrong. */
  async run() {
    put(this.button, "disabled", true);
    put(this.progress, "hidden", null);
    say(this.verdict, "");
    say(this.limits, "");
    // Most who look at a match do not verify it.
    const [{ check }, { verdictOf }] = await Promise.all([import("../check/check.js"), import("../check/verdict.js")]);
    const all = [];
    const steps = new Map();
    const general = [];
    let [wrong, pause] = [null, performance.now() + AT_ONCE];
    for await (const step of check(this.record)) {
      all.push(step);
      if (step.index === null) general.push(step);
      else steps.set(step.index + 1, [...(steps.get(step.index + 1) ?? []), step]);
      if (step.ok === false) wrong ??= step;
      if (performance.now() < pause) continue;
      this.progress.value = step.index ?? 0;
      await new Promise((resume) => setTimeout(resume));
      pause = performance.now() + AT_ONCE;
    }
    this.progress.value = this.progress.max;
    this.#tell(verdictOf(this.record, all));
    this.general.replaceChildren(...general.map(stepItem));
    this.then.found(steps);
    this.then.wrong(wrong && wrong.index !== null ? wrong.index + 1 : null);
  }

  /** @param {import("../check/verdict.js").Verdict} verdict */
  #tell({ kind, text, limits }) {
    put(this.button, "disabled", null);
    put(this.progress, "hidden", true);
    put(this.details, "hidden", null);
    put(this.verdict, "class", `verdict ${kind}`);
    say(this.verdict, `${MARKS[kind]}${text}`);
    say(this.limits, limits);
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
