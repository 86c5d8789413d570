/** The board of the duel: a person invades, reinforces or attacks by pressing territories. */

import { battleChance } from "./odds.js";
import makeRiskBoard from "./risk-board.js";
import { isBorder } from "./territories.js";

export default (kit) => {
  const { either, el, put, say } = kit;
  const RiskBoard = makeRiskBoard(kit);

  class DuelBoard extends RiskBoard {
    constructor(match, game) {
      super(match, game);
      this.hint = el("p", { class: "hint" });
      this.reinforce = el("button", { type: "button", onclick: () => this.#place() });
      this.controls.append(this.hint, this.attacks, this.reinforce);
    }

    draw() {
      super.draw();
      if (!this.isPlayable) return;
      const at = this.source;
      put(this.reinforce, "hidden", at === null || !this.#legal("reinforce", { at }));
      if (at !== null) say(this.reinforce, `Reinforce ${this.name(at)}`);
      this.listAttacks((attack) => this.choose(attack));
      say(this.hint, this.#hint());
    }

    offered() {
      if (!this.isPlayable) return [];
      const { legal } = this.view;
      if (legal[0].do === "invade") return legal.map(({ to }) => to);
      if (this.source !== null) return legal.filter((move) => move.do === "attack" && move.from === this.source).map(({ to }) => to);
      return legal.map((move) => move.from ?? move.at);
    }

    attackOn(at) {
      return this.isPlayable && this.source !== null ? this.#legal("attack", { from: this.source, to: at }) : undefined;
    }

    attackLabel(attack) {
      return `${super.attackLabel(attack)}, else lose ${this.state.troops[attack.to]}`;
    }

    statusText() {
      const { ply, to_move: mover } = this.state;
      if (mover === null) return "";
      return [`Move ${ply + 1} of ${this.config.max_plies}`, super.statusText()].filter(Boolean).join(": ");
    }

    press(at) {
      if (!this.isPlayable) return;
      const { owner } = this.state;
      const invasion = this.#legal("invade", { to: at });
      const attack = this.attackOn(at);
      if (invasion || attack) this.choose(invasion || attack);
      else if (this.view.legal[0].do === "invade") this.onRefuse(`${this.held(at)}: invade a free territory, as long as there is one.`);
      else if (owner[at] === this.mover) this.#pick(at);
      else if (this.source === null) this.onRefuse(`${this.held(at)}: first choose a neighbour of yours to attack from.`);
      else this.onRefuse(`${this.#unfit(at)}.`);
    }

    /** An attack is one throw, whatever the numbers of troops. */
    static chanceOf(config, state, move) {
      return move.do === "attack" ? battleChance(1, 1) : null;
    }

    #pick(at) {
      this.source = this.source === at ? null : at;
      this.draw();
    }

    #place() {
      const move = this.#legal("reinforce", { at: this.source });
      if (move) this.choose(move);
    }

    #legal(kind, where) {
      return this.view.legal.find((move) => move.do === kind && Object.entries(where).every(([name, value]) => move[name] === value));
    }

    #unfit(at) {
      const { troops } = this.state;
      if (!isBorder(this.config.map, this.source, at)) return `${this.name(this.source)} has no border with ${this.name(at)}`;
      return `${this.name(this.source)} has ${troops[this.source]}, ${this.name(at)} ${troops[at]}: an attacker needs at least as many troops`;
    }

    #hint() {
      if (this.view.legal[0].do === "invade") return "Choose a free territory to invade.";
      if (this.source === null) return "Choose one of your territories to reinforce or to attack from.";
      const targets = this.offered().map((to) => this.name(to));
      const from = this.name(this.source);
      const reinforces = this.#legal("reinforce", { at: this.source }) !== undefined;
      if (!targets.length) return `${from} can't attack anything${reinforces ? ": reinforce it or choose another" : ""}.`;
      return `From ${from}: attack ${either(targets)}${reinforces ? `, or reinforce ${from}` : ""}.`;
    }
  }

  return DuelBoard;
};
