/** The board of the campaign: a person places units, attacks with part of an army, and ends the turn. */

import { battleChance } from "./odds.js";
import makeRiskBoard from "./risk-board.js";

export default (kit) => {
  const { counted, el, put, say } = kit;
  const RiskBoard = makeRiskBoard(kit);

  class CampaignBoard extends RiskBoard {
    constructor(match, game) {
      super(match, game);
      const button = (words, press) => el("button", { type: "button", onclick: press }, words);
      this.hint = el("p", { class: "hint" });
      this.place = button("Place them", () => this.#placed());
      this.undo = button("Undo", () => this.#undone());
      this.each = el("select", {}, ...["1", "5", "all"].map((many) => el("option", { value: many }, many)));
      this.units = el("input", { type: "number", min: 1, inputmode: "numeric", oninput: () => this.draw() });
      this.strike = button("", () => this.#attack());
      this.end = button("End the turn", () => this.choose({ do: "end" }));
      this.drafting = el("div", { class: "choosing" }, el("label", {}, "units per press ", this.each), this.undo, this.place);
      this.force = el("label", {}, "with ", this.units, " units");
      this.attacking = el("div", { class: "choosing" }, this.force, this.strike, this.attacks, this.end);
      this.controls.append(this.hint, this.drafting, this.attacking);
    }

    get hasBonuses() {
      return this.config.draft === "classic";
    }

    clearSelection() {
      super.clearSelection();
      this.order = []; // [territory, units], in the order of presses
    }

    draw() {
      super.draw();
      if (!this.isPlayable) return;
      const drafts = this.state.phase === "draft";
      put(this.drafting, "hidden", !drafts);
      put(this.attacking, "hidden", drafts);
      put(this.undo, "disabled", !this.order.length);
      put(this.place, "disabled", this.#left > 0);
      put(this.force, "hidden", this.target === null);
      put(this.strike, "hidden", this.target === null);
      say(this.strike, this.#strikeLabel());
      put(this.attacks, "hidden", this.target !== null);
      this.listAttacks(({ to }) => this.#aim(to));
      say(this.hint, drafts ? this.#draftHint() : this.#attackHint());
    }

    added() {
      const added = {};
      for (const [at, count] of this.order) added[at] = (added[at] ?? 0) + count;
      return added;
    }

    offered() {
      if (!this.isPlayable) return [];
      const { options } = this.view;
      if (this.state.phase === "draft") return this.#left ? (options?.territories ?? owned(this.state, this.mover)) : [];
      const from = this.source === null ? this.#attacks() : this.#attacks().filter((attack) => attack.from === this.source);
      return [...new Set(from.map((attack) => (this.source === null ? attack.from : attack.to)))];
    }

    statusText() {
      const { round, phase, units, attacks_left: left, to_move: mover } = this.state;
      const number = `Round ${Math.min(round, this.config.max_rounds)} of ${this.config.max_rounds}`;
      if (mover === null) return number;
      if (mover === this.view.seat) return `${number}: you ${phase === "draft" ? `draft ${units}` : `have ${counted(left, "attack")} left this turn`}`;
      return `${number}: ${this.seats[mover].bot} ${phase === "draft" ? `drafts ${units}` : `has ${counted(left, "attack")} left this turn`}`;
    }

    describe(state) {
      return `${super.describe(state)} Round ${Math.min(state.round, this.config.max_rounds)}.`;
    }

    attackOn(at) {
      if (!this.isPlayable || this.source === null) return undefined;
      const attack = this.#attacks().find(({ from, to }) => from === this.source && to === at);
      return attack && { do: "attack", from: attack.from, to: attack.to, units: attack.max_units };
    }

    press(at, event) {
      if (!this.isPlayable) return;
      if (this.state.phase === "draft") this.#draft(at, event?.shiftKey);
      else if (this.state.owner[at] === this.mover) this.#pick(at);
      else if (this.source === null) this.onRefuse(`${this.held(at)}: first choose a neighbour of yours to attack from.`);
      else if (at === this.target) this.#attack();
      else this.#aim(at);
    }

    static chanceOf({ battle }, { troops }, move) {
      if (move.do !== "attack") return null;
      return battle === "deterministic" ? Number(move.units > troops[move.to]) : battleChance(move.units, troops[move.to]);
    }

    #draft(at, several) {
      if (this.state.owner[at] !== this.mover) this.onRefuse(`${this.held(at)}: you can place units only on your own territories.`);
      else if (!this.#left) this.onRefuse("All units are placed: confirm or undo.");
      else {
        const many = several ? 5 : this.each.value === "all" ? this.#left : Number(this.each.value);
        this.order.push([at, Math.min(many, this.#left)]);
        this.draw();
      }
    }

    #undone() {
      this.order.pop();
      this.draw();
    }

    #placed() {
      const units = Object.entries(this.added()).map(([at, count]) => [Number(at), count]);
      if (!this.#left) this.choose({ do: "draft", units: units.sort(([a], [b]) => a - b) });
    }

    #pick(at) {
      if (!this.#attacks().some(({ from }) => from === at)) this.onRefuse(this.#stuck(at));
      else {
        this.source = this.source === at ? null : at;
        this.target = null;
        this.draw();
      }
    }

    #aim(at) {
      const attack = this.attackOn(at);
      if (!attack) this.onRefuse(`${this.name(this.source)} has no border with ${this.name(at)}.`);
      else {
        const listed = this.attacks.contains(document.activeElement);
        this.target = at;
        put(this.units, "max", attack.units);
        this.units.value = String(attack.units);
        this.draw();
        if (listed) this.strike.focus(); // the list with the focus is now hidden
      }
    }

    #attack() {
      const attack = this.#aimed();
      if (attack) this.choose(attack);
      else this.onRefuse(`${this.name(this.source)} can attack with 1 to ${this.units.max} units.`);
    }

    /** Return the chosen attack with the entered number of units; null if that number is invalid. */
    #aimed() {
      const units = Number(this.units.value);
      const fits = Number.isInteger(units) && units >= 1 && units <= Number(this.units.max);
      return this.target !== null && fits ? { do: "attack", from: this.source, to: this.target, units } : null;
    }

    #strikeLabel() {
      const attack = this.#aimed();
      return attack ? this.attackLabel(attack) : "Attack";
    }

    #attacks() {
      return this.view.options?.attacks ?? this.view.legal.filter((move) => move.do === "attack").map((move) => ({ ...move, max_units: move.units }));
    }

    #stuck(at) {
      if (this.state.troops[at] < 2) return `${this.name(at)} can't attack: 1 unit has to stay behind.`;
      return `${this.name(at)} has no enemy next to it.`;
    }

    get #left() {
      return this.state.units - this.order.reduce((sum, [, count]) => sum + count, 0);
    }

    #draftHint() {
      const left = this.#left;
      return left ? `${counted(left, "unit")} to place on your territories.` : "All units are placed.";
    }

    #attackHint() {
      if (!this.#attacks().length) return "You can't attack anything: end the turn.";
      if (this.source === null) return "Choose one of your territories to attack from, or end the turn.";
      if (this.target === null) return `From ${this.name(this.source)}: choose what to attack.`;
      return `${this.name(this.source)} → ${this.name(this.target)}: with how many?`;
    }
  }

  function owned(state, seat) {
    return state.owner.flatMap((owner, at) => (owner === seat ? [at] : []));
  }

  return CampaignBoard;
};
