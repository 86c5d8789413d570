/** Verifies the record in this browser: a button, a progress bar, and the findings. */

import { el, put, say } from "../dom.js";

const WORK_SLICE_MS = 12; // ms of work between two frames
const MARKS = { good: "✓ ", bad: "✗ ", partial: "" };

export class Verification {
  /**
   * @param {object} record the complete match document
   * @param {{found: (steps: Map<number, object[]>) => void, wrong: (at: number | null) => void}} then `found` is called at the end
   */
  constructor(record, then) {
    this.record = record;
    this.then = then;
    this.button = el("button", { type: "button", onclick: () => this.run() }, "Verify in this browser");
    this.progress = el("progress", { max: Math.max(1, record.plies.length), value: 0, "aria-label": "verified so far", hidden: true });
    this.verdict = el("p", { role: "status", class: "verdict" });
    this.limits = el("p", { class: "faint small limits" });
    this.general = el("ul", { class: "now-steps" });
    this.details = el("details", { hidden: true }, el("summary", {}, "steps for the whole match"), this.general);
    this.element = el("div", { class: "verification" }, this.button, this.progress, this.verdict, this.limits, this.details);
  }

  /** Verify the match, up to the first error. */
  async run() {
    put(this.button, "disabled", true);
    put(this.progress, "hidden", null);
    say(this.verdict, "");
    say(this.limits, "");
    // Loaded only now: most visitors do not verify the match.
    const scripts = await this.#load().catch(() => null);
    if (scripts === null) {
      put(this.progress, "hidden", true);
      say(this.verdict, "The verification did not load. Reload this page and try again.");
      return;
    }
    const [{ check }, { verdictOf }] = scripts;
    const all = [];
    const steps = new Map();
    const general = [];
    let [wrong, pause] = [null, performance.now() + WORK_SLICE_MS];
    for await (const step of check(this.record)) {
      all.push(step);
      if (step.index === null) general.push(step);
      else steps.set(step.index + 1, [...(steps.get(step.index + 1) ?? []), step]);
      if (step.ok === false) wrong ??= step;
      if (performance.now() < pause) continue;
      this.progress.value = step.index ?? 0;
      await new Promise((resume) => setTimeout(resume));
      pause = performance.now() + WORK_SLICE_MS;
    }
    this.progress.value = this.progress.max;
    this.#tell(verdictOf(this.record, all));
    this.general.replaceChildren(...general.map(stepItem));
    this.then.found(steps);
    this.then.wrong(wrong && wrong.index !== null ? wrong.index + 1 : null);
  }

  /** Load what verifies the match. Rejects if a script does not load. */
  async #load() {
    const { loadRules } = await import("../check/rules.js");
    return Promise.all([import("../check/check.js"), import("../check/verdict.js"), loadRules(this.record.header)]);
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
 * Create the list item of a step.
 * @param {import("../check/check.js").Step} step
 */
export function stepItem({ ok, text }) {
  if (ok === null) return el("li", { class: "faint" }, text);
  return el("li", { class: ok ? "good" : "bad" }, `${ok ? "✓" : "✗"} ${text}`);
}
