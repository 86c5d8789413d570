/** The base class of both Risk boards: the map, the strength of each seat, the last battle. */

import makeDiceRow from "./battle-dice.js";
import { MAX_RECORDED_ROUNDS } from "./battle.js";
import makeMap from "./map.js";
import makePieces from "./pieces.js";
import { holding } from "./territories.js";

const WINNING_DICE = [[6], [1]]; // the dice of an example
const MAX_NAMED_TERRITORIES = 4; // maximum territories of a draft that are named

export default (kit) => {
  const { Board, counted, el, seatWithVerb, withChance } = kit;
  const { pieceSign } = makePieces(kit);
  const RiskMap = makeMap(kit);
  const diceRow = makeDiceRow(kit);

  class RiskBoard extends Board {
    constructor(match, game) {
      super(match, game);
      this.element.classList.add("board-risk");
      this.map = new RiskMap(match.config.map, this.hasBonuses, (territory, event) => this.press(territory, event));
      this.attacks = el("div", { class: "choosing" });
      const pieces = [["infantry", 1], ["cavalry", 5], ["artillery", 10]].map(([piece, worth]) => el("li", {}, pieceSign(piece), `${piece} ${worth}`));
      this.face.append(this.map.element, el("ul", { class: "pieces-legend", "aria-label": "pieces" }, ...pieces));
      this.clearSelection();
    }

    /** Whether holding a whole continent gives units. */
    get hasBonuses() {
      return false;
    }

    /** Clear the person's selection. */
    clearSelection() {
      this.source = null;
      this.target = null;
    }

    draw() {
      const { state, view } = this;
      if (this.drawn !== state || !this.isPlayable) this.clearSelection();
      this.drawn = state;
      const attack = attackOf(view.event);
      this.map.attack(attack);
      if (this.marched !== view.event) this.map.march(attack, attack ? state.troops[attack.to] : 0);
      this.marched = view.event;
      this.map.show(state.owner, state.troops, this.marks(), this.added());
      this.map.offer(this.isPlayable ? state.owner.map((_, at) => this.named(at)) : []);
    }

    dice(event) {
      const attack = attackOf(event);
      if (!attack) return null;
      const before = this.view.before ?? (attack.taken ? null : this.state); // the state after the attack does not tell who held the territory
      return diceRow(event, before ? before.owner[attack.to] : -1);
    }

    /** Return the CSS classes of highlighted territories. */
    marks() {
      const { state, view } = this;
      const marks = {};
      const mark = (at, name) => (marks[at] = marks[at] ? `${marks[at]} ${name}` : name);
      if (view.before?.owner && view.event) {
        for (const [at, owner] of state.owner.entries()) {
          if (owner !== view.before.owner[at] || state.troops[at] !== view.before.troops[at]) mark(at, "changed");
        }
      }
      const offered = new Set(this.offered());
      if (this.source !== null) {
        mark(this.source, "picked");
        for (const at of state.owner.keys()) if (at !== this.source && !offered.has(at)) mark(at, "dimmed"); // can't be chosen
      }
      if (this.target !== null) mark(this.target, "aimed");
      for (const at of offered) mark(at, "offered");
      return marks;
    }

    /** Return the units that the current draft adds, by territory. */
    added() {
      return {};
    }

    /** Return the territories where a press has an effect. */
    offered() {
      return [];
    }

    strength(seat) {
      const [territories, troops] = holding(this.state, seat);
      const isOut = Boolean(this.state.out?.includes(seat));
      const all = this.state.troops.reduce((sum, count) => sum + count, 0);
      const words = `${counted(territories, "territory", "territories")}, ${counted(troops, "troop")}${isOut ? ", out" : ""}`;
      return { words, short: `${territories} · ${troops}`, share: all ? troops / all : 0, out: isOut };
    }

    /** Return a territory's name. */
    name(at) {
      return this.config.map.territories[at].name;
    }

    /** Return who holds a territory, like "Peru is bob's (seat 2) with 3". */
    held(at) {
      const owner = this.state.owner[at];
      return owner < 0 ? `${this.name(at)} is nobody's` : `${this.name(at)} is ${this.whose(owner)} with ${this.state.troops[at]}`;
    }

    whose(seat) {
      return seat === this.view.seat ? "yours" : `${this.seats[seat].bot}'s (seat ${seat + 1})`;
    }

    /** Return the accessible name of a territory. */
    named(at) {
      const attack = this.attackOn(at);
      const said = at === this.source ? ", chosen" : attack ? withChance(", attack", this.chance(attack)) : "";
      return `${this.held(at)}${said}`;
    }

    /** Return the attack on a territory that can be chosen now. */
    attackOn() {
      return undefined;
    }

    /** Return the probability that an attack takes its territory. */
    chance(attack) {
      return this.constructor.chanceOf(this.config, this.state, attack);
    }

    /**
     * Return the label of an attack.
     * @param {{from: number, to: number, units?: number}} attack
     */
    attackLabel(attack) {
      return withChance(`Attack ${this.name(attack.to)}`, this.chance(attack));
    }

    /** Show the attacks from the chosen territory as buttons, each with its chance. */
    listAttacks(press) {
      const attacks = this.state.owner.map((_, at) => this.attackOn(at)).filter(Boolean);
      const labels = attacks.map((attack) => this.attackLabel(attack));
      const key = JSON.stringify([attacks, labels]);
      if (this.attacks.dataset.key === key) return;
      this.attacks.dataset.key = key;
      this.attacks.replaceChildren(...attacks.map((attack, at) => el("button", { type: "button", onclick: () => press(attack) }, labels[at])));
    }

    describe(state) {
      const held = this.seats.map((_, seat) => {
        const [territories, troops] = holding(state, seat);
        return `${this.player(seat)} holds ${counted(territories, "territory", "territories")} with ${counted(troops, "troop")}`;
      });
      return `${held.join("; ")}. ${super.describe(state)}`;
    }

    /** The titles of presets name the map and the draft. */
    static configText({ map, draft, ...more }) {
      return super.configText(more);
    }

    static moveText({ map }, move) {
      const name = (at) => map.territories[at]?.name ?? `territory ${at + 1}`;
      if (move.do === "invade") return `invade ${name(move.to)}`;
      if (move.do === "reinforce") return `reinforce ${name(move.at)}`;
      if (move.do === "attack") return `${name(move.from)} → ${name(move.to)}${move.units === undefined ? "" : ` with ${move.units}`}`;
      if (move.do === "draft") return `draft ${few(move.units.map(([at, count]) => `${name(at)}+${count}`))}`;
      return move.do ?? JSON.stringify(move);
    }

    static dealText({ owner }) {
      return `deals ${owner.length} territories to ${new Set(owner).size} seats`;
    }

    /** Describe the result of an attack: "taken (dice 6 : 3)" or "taken after 5 rounds, 3 troops left". */
    static resultText({ dice = [], result }) {
      if (!result) return "";
      const fought = Math.floor(dice.length / 2);
      const thrown = dice.length ? ` (dice\u00a0${dice.map((row) => row.join(",")).join("\u00a0:\u00a0")})` : "";
      const battle = fought > 1 ? ` after ${fought}${fought === MAX_RECORDED_ROUNDS ? "+" : ""} rounds` : thrown;
      const left = Math.max(result.attackers ?? 0, result.defenders ?? 0);
      return `${result.taken ? "taken" : "held"}${battle}${left ? `, ${counted(left, "troop")} left` : ""}`;
    }

    static endingText({ config, reason, ...ended }, [winner, ...others]) {
      if (reason === "ply_limit") return "the match reached the limit of moves, and no player holds everything";
      const most = seatWithVerb(ended, winner, "holds the most territories", "hold the most territories");
      if (reason === "round_limit") return others.length > 0 ? "the last round was played" : `the last round was played: ${most}`;
      return others.length > 0 ? undefined : seatWithVerb(ended, winner, `holds ${land(config.map)}`, `hold ${land(config.map)}`);
    }

    static isCapture({ result }) {
      return Boolean(result?.taken);
    }

    /** An attack of an example wins. The end of a turn changes nothing on the board. */
    static exampleOf({ do: action }) {
      return { dice: WINNING_DICE, hasPicture: action !== "end", goesOn: action === "draft" };
    }

    static get eliminationText() {
      return "you have no territory left";
    }
  }

  function land({ name, continents }) {
    if (name === "world") return "the world";
    return continents.length === 1 && continents[0].bonus ? continents[0].name : "the whole map";
  }

  function few(items) {
    const more = items.length > MAX_NAMED_TERRITORIES ? ` and ${items.length - MAX_NAMED_TERRITORIES} more` : "";
    return items.slice(0, MAX_NAMED_TERRITORIES).join(" ") + more;
  }

  /** Return an event's attack for the map, or null. */
  function attackOf(event) {
    if (event?.move?.do !== "attack") return null;
    return { from: event.move.from, to: event.move.to, seat: event.seat, taken: RiskBoard.isCapture(event) };
  }

  return RiskBoard;
};
