/** The rules of the campaign: Risk for two to six seats, with drafts and battles to the end. */

import { fight, settle } from "./battle.js";
import { holding, isBorder } from "./territories.js";

export default ({ Dice, demand, demandFields, fromHex, hmac, isPlace }) => {
  const MIN_CLASSIC_DRAFT = 3;
  const DEAL_BYTES = 16;

  /** Its states contain, besides the wire format, the `seat` whose turn it is, even after the end. */
  class Campaign {
    /** @param {object} config */
    constructor(config) {
      this.config = config;
      this.seats = config.players;
    }

    told(choice) {
      return choice.among === 6 ? `${choice.number} mod 6 + 1 = ${choice.choice + 1}` : "a byte of the deal";
    }

    async start(dice) {
      const { map, deal } = this.config;
      const bytes = deal === null ? await drawn(dice) : fromHex(deal);
      const owner = await dealt(bytes, map.territories.length, this.seats);
      if (deal !== null) return { state: this.#begun(owner, 0) };
      return { state: this.#begun(owner, 1), deal: { ply: 0, seat: -1, move: { owner } } };
    }

    /** Return the state after a deal that an event tells. */
    dealt({ owner }) {
      return this.#begun(owner, 1);
    }

    /** Return the state after a deal. */
    #begun(owner, ply) {
      const { initial_units: units, max_attacks: attacks_left, first_draft } = this.config;
      const troops = owner.map(() => units);
      const state = { owner, troops, phase: "draft", units: first_draft ?? this.#income(owner, 0), attacks_left, round: 1, out: [], seat: 0, ply };
      return this.#seen(state);
    }

    async play(before, move, dice) {
      check(before, move, this.config.map);
      const { ply, seat } = before;
      if (move.do === "attack") return this.#attack(before, move, dice);
      if (move.do === "end") {
        return { state: this.#seen(this.#passed({ ...before, ply: ply + 1 })), event: { ply, seat, move } };
      }
      const units = [...move.units].sort(([a], [b]) => a - b);
      const added = new Map(units);
      const troops = before.troops.map((number, at) => number + (added.get(at) ?? 0));
      const state = this.#seen({ ...before, troops, phase: "attack", units: 0, ply: ply + 1 });
      return { state, event: { ply, seat, move: { do: "draft", units } } };
    }

    drop(before, seat) {
      if (before.out.includes(seat)) return before;
      const state = { ...before, out: [...before.out, seat] };
      return this.#seen(state.seat === seat ? this.#passed(state) : state);
    }

    ranks(state) {
      const seats = Array.from({ length: this.seats }, (_, seat) => seat);
      const staying = seats.filter((seat) => !state.out.includes(seat));
      const holdings = seats.map((seat) => (this.#isOver(state) ? holding(state, seat) : [0, 0]));
      const isBetter = ([a, b], [c, d]) => a > c || (a === c && b > d);
      return seats.map((seat) => {
        const place = state.out.indexOf(seat);
        if (place >= 0) return this.seats - place;
        return 1 + staying.filter((other) => isBetter(holdings[other], holdings[seat])).length;
      });
    }

    reason(state) {
      if (state.out.length === this.seats - 1) return "win";
      return this.ranks(state).every((rank) => rank === 1) ? "draw" : "round_limit";
    }

    wire({ seat, ...state }) {
      return state;
    }

    #isOver({ out, round }) {
      return out.length >= this.seats - 1 || round > this.config.max_rounds;
    }

    #seen(state) {
      return { ...state, to_move: this.#isOver(state) ? null : state.seat };
    }

    /** Return the units that a seat gets in a draft. */
    #income(owner, seat) {
      const { map, draft } = this.config;
      const count = owner.filter((held) => held === seat).length;
      if (draft === "territories") return count;
      const isWhole = (continent) => map.territories.every((at, i) => at.continent !== continent || owner[i] === seat);
      const bonuses = map.continents.map(({ bonus }, continent) => (isWhole(continent) ? bonus : 0));
      return bonuses.reduce((sum, bonus) => sum + bonus, Math.max(MIN_CLASSIC_DRAFT, Math.floor(count / 3)));
    }

    /** Return the state in which the next remaining seat drafts. */
    #passed(state) {
      let { seat, round } = state;
      let order = this.#order(round);
      order = order.slice(order.indexOf(seat) + 1);
      if (order.every((later) => state.out.includes(later))) order = this.#order(++round);
      seat = order.find((later) => !state.out.includes(later));
      const units = this.#income(state.owner, seat);
      return { ...state, phase: "draft", units, attacks_left: this.config.max_attacks, round, seat };
    }

    /** Return the seats in the order of a round, including those that are out. */
    #order(round) {
      const seats = Array.from({ length: this.seats }, (_, seat) => seat);
      return this.config.turn_order === "snake" && round % 2 === 0 ? seats.reverse() : seats;
    }

    async #attack(before, move, dice) {
      const [units, against] = [move.units, before.troops[move.to]];
      const withDice = this.config.battle === "dice";
      const end = withDice ? await fight(dice, units, against) : settle(units, against);
      const { attackers, defenders } = end;
      const event = { ply: before.ply, seat: before.seat, move };
      if (withDice) event.dice = end.dice;
      event.result = { taken: defenders === 0, attackers, defenders };
      return { state: this.#seen(this.#fought(before, move, end)), event };
    }

    /** Return the state after a battle with these survivors. */
    #fought(before, { from, to, units }, { attackers, defenders }) {
      const [owner, troops] = [[...before.owner], [...before.troops]];
      const loser = owner[to];
      let { out } = before;
      troops[from] -= units;
      troops[to] = attackers || defenders;
      if (attackers) {
        owner[to] = before.seat;
        if (!owner.includes(loser) && !out.includes(loser)) out = [...out, loser];
      }
      const attacks_left = before.attacks_left - 1;
      const state = { ...before, owner, troops, out, units: 0, attacks_left, ply: before.ply + 1 };
      return attacks_left || this.#isOver(state) ? state : this.#passed(state);
    }
  }

  async function drawn(dice) {
    const bytes = [];
    while (bytes.length < DEAL_BYTES) bytes.push(await dice.choice("deal", 256));
    return Uint8Array.from(bytes);
  }

  /** Return the owner of each territory: the k-th shuffled one goes to seat k mod `players`. */
  async function dealt(bytes, count, players) {
    const owner = new Array(count);
    const shuffled = await new Dice(await hmac(bytes), 0).shuffle("deal", count);
    shuffled.forEach((territory, k) => (owner[territory] = k % players));
    return owner;
  }

  function check(state, move, map) {
    if (state.phase === "draft") {
      demand(move?.do === "draft", "a turn must begin with a draft");
      checkDraft(state, move);
      return;
    }
    demand(move?.do === "attack" || move?.do === "end", "the draft of this turn is done");
    if (move.do === "end") demandFields(move, "do");
    else checkAttack(state, move, map);
  }

  function checkAttack({ owner, troops, seat }, move, map) {
    demandFields(move, "do", "from", "to", "units");
    const { from, to, units } = move;
    for (const at of [from, to]) demand(isPlace(at, owner.length), `territories are 0 to ${owner.length - 1}`);
    demand(owner[from] === seat, `territory ${from} is not seat ${seat}'s`);
    demand(isBorder(map, from, to), `territories ${from} and ${to} have no border`);
    demand(owner[to] !== seat, `territory ${to} is seat ${seat}'s own`);
    const most = troops[from] - 1;
    demand(isPlace(units, most + 1) && units >= 1, `territory ${from} can attack with 1 to ${most} units`);
  }

  function checkDraft({ owner, seat, units: due }, move) {
    demandFields(move, "do", "units");
    const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isSafeInteger);
    demand(Array.isArray(move.units) && move.units.every(isPair), "units are pairs of a territory and a number");
    const named = new Set();
    for (const [at, count] of move.units) {
      demand(owner[at] === seat, `territory ${at} is not seat ${seat}'s`);
      demand(!named.has(at), `territory ${at} is listed twice`);
      demand(count >= 1, `territory ${at} gets ${count} units`);
      named.add(at);
    }
    const placed = move.units.reduce((sum, [, count]) => sum + count, 0);
    demand(placed === due, `the draft places ${placed} units of ${due}`);
  }

  return (config) => new Campaign(config);
};
