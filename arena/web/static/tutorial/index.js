/** The page of a tutorial: a board, and for each move what to do and why. */

import { loadBoards, makeBoard } from "../board/index.js";
import { loadRules } from "../check/rules.js";
import { el, put, say } from "../dom.js";
import { loadPart } from "../games.js";
import { Lesson } from "./lesson.js";

const SEATS = [{ bot: "you" }, { bot: "Ada" }];

/** A lesson on the page. */
class Tutorial {
  /**
   * @param {string} game
   * @param {object} config
   * @param {Lesson} lesson
   */
  constructor(game, config, lesson) {
    this.lesson = lesson;
    this.board = makeBoard(game, { config, seats: SEATS });
    this.board.onChoose = (move) => this.#chosen(move);
    this.board.onRefuse = (sentence) => this.#hint(sentence);
    this.count = el("p", { class: "faint" });
    this.came = el("p", { class: "came" });
    this.task = el("p", { class: "task" });
    this.wrong = el("p", { class: "wrong", role: "alert" });
    this.onward = el("button", { type: "button", class: "main", onclick: () => this.#answered() }, "Next");
    this.showing = el("button", { type: "button", onclick: () => this.board.choose(this.lesson.step.move) }, "Show me");
    this.again = el("button", { type: "button", onclick: () => this.begin() }, "Start again");
    const played = el("a", { class: "button main", href: `/play?game=${game}` }, "Play it for real");
    const rules = el("a", { href: `/rules/${game}` }, "All the rules");
    this.finished = el("p", { class: "row", hidden: true }, played, rules);
    this.coach = el(
      "section",
      { class: "coach", "aria-label": "what to do" },
      this.count,
      el("div", { "aria-live": "polite" }, this.came, this.task),
      this.wrong,
      this.finished,
      el("p", { class: "row" }, this.onward, this.showing, this.again),
    );
    const prompt = el("section", { class: "prompt", "aria-label": "your move" }, this.board.controls, this.board.eventElement);
    this.element = el("div", { class: "match tutorial" }, this.coach, el("div", { class: "stage" }, this.board.element), prompt);
  }

  /** Start the lesson, or restart it. */
  async begin() {
    this.#ask(await this.lesson.begin(), "");
  }

  async #chosen(move) {
    const { step } = this.lesson;
    const shown = await this.lesson.move(move);
    if (shown === null) {
      const { state, view } = await this.lesson.asked();
      this.board.show(state, view);
      this.#hint("The rules allow this move, but the lesson needs another one.");
    } else if (step.answer) {
      this.#tell(shown, step.came, "Now it is Ada’s turn.");
      this.answer = step.answer;
      put(this.onward, "hidden", false);
      this.onward.focus();
    } else if (this.lesson.step) {
      const { view } = await this.lesson.asked(shown.view);
      this.#ask({ ...shown, view }, step.came);
    } else {
      this.#tell(shown, step.came, "That was the whole game.");
      put(this.finished, "hidden", false);
      this.finished.firstChild.focus();
    }
  }

  async #answered() {
    put(this.onward, "hidden", true);
    this.#ask(await this.lesson.answer(this.answer), this.answer.came);
  }

  /** Show a position in which the learner is to move. */
  #ask(shown, came) {
    this.#tell(shown, came, this.lesson.step.say);
    say(this.count, `Move ${this.lesson.done + 1} of ${this.lesson.length}`);
    put(this.showing, "hidden", false);
  }

  #tell({ state, view }, came, task) {
    for (const part of [this.onward, this.showing, this.finished]) put(part, "hidden", true);
    say(this.wrong, "");
    say(this.came, came);
    say(this.task, task);
    this.board.show(state, view);
  }

  /** Show what was wrong, and what to press. */
  #hint(sentence) {
    say(this.wrong, `${sentence} ${this.lesson.step.hint}`);
  }
}

const root = document.getElementById("tutorial");
const { game } = root.dataset;
const config = JSON.parse(document.getElementById("config").textContent);

/** Load the scripts of the game, and show its lesson. */
async function teach() {
  const [rules, script] = await Promise.all([loadRules({ game, config }), loadPart(game, "tutorial"), loadBoards(game)]);
  const tutorial = new Tutorial(game, config, new Lesson(rules, script));
  await tutorial.begin();
  root.replaceChildren(tutorial.element);
}

try {
  await teach();
} catch (error) {
  console.error(error);
  root.replaceChildren(el("p", { class: "banner lost", role: "alert" }, "The board did not load. Reload this page and try again."));
}
