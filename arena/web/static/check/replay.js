// A match refereed again: what each event of a record should have been, and the chain of digests.

import { canonical } from "./canonical.js";
import { Dice, tellTrace } from "./dice.js";
import { join, sha256, toHex, utf8 } from "./hash.js";
import { Illegal, RULES } from "./rules/index.js";
import { difference, same, short, shown, step } from "./step-text.js";

const MAX_STRIKES = 3;
const LEAVING = ["resigned", "timeout", "illegal", "disconnected", "no_show", "failed"];
const GIVEN_AT_MOST = 0.01;

/** The course of one match. `begin`, then `enter` for each event, then `end`: each yields what it found. */
export class Course {
  /**
   * @param {object} document
   * @param {(message: Uint8Array) => Promise<Uint8Array>} mac HMAC with the key of the match
   * @param {Uint8Array} digest D(0)
   */
  constructor({ header, plies, strikes, footer }, mac, digest) {
    Object.assign(this, { header, footer, mac, digest });
    this.began = plies.length > 0 || footer.reason !== "void";
    this.awaited = [...strikes];
    this.rules = RULES[header.game]?.(header.config);
    this.state = null;
    this.deal = undefined;
    /** @type {Map<number, string>} the seats that left, and why */
    this.out = new Map();
    this.struck = header.seats.map(() => 0);
    this.given = header.seats.map(() => 0);
  }

  get toMove() {
    return this.state?.to_move ?? null;
  }

  get ply() {
    return this.state?.ply ?? 0;
  }

  get isOver() {
    return this.began && (this.toMove === null || this.out.size >= this.header.seats.length - 1);
  }

  async *begin() {
    const { game, seats } = this.header;
    if (this.rules === undefined) {
      yield step("scope", null, `The rules of ${game} are not known here: only its digests are checked.`);
      return;
    }
    const is = { seats: seats.length, nonces: this.footer.nonces.length };
    const should = { seats: this.rules.seats, nonces: this.rules.seats };
    if (!same(should, is)) {
      yield step("opening", false, `Under this config of ${game} ${difference(should, is)}.`);
      return;
    }
    if (!this.began) return;
    const dice = new Dice(this.mac, 0);
    const { state, deal } = await this.rules.start(dice);
    this.state = state;
    if (deal) this.deal = { event: deal, dice };
  }

  /** @param {{event: object, digest: string, state?: object, given?: number}} line of the match document */
  async *enter(line) {
    const seat = this.toMove;
    yield* this.#checkGiven(seat, line.given);
    const steps = this.rules === undefined ? this.#believed(line) : this.#refereed(line);
    for await (const found of steps) {
      yield found;
      if (found.ok === false && !["dice", "result", "deal"].includes(found.what)) return;
    }
    if (line.state !== undefined && this.rules !== undefined) {
      const is = this.#wire();
      const ok = same(is, line.state);
      const text = ok ? "The state follows by the rules." : `The state is wrong: ${difference(is, line.state)}.`;
      yield step("state", ok, text);
    }
    yield* this.#chain(line);
  }

  async *end() {
    const { footer } = this;
    yield* this.#late();
    const isVoid = footer.reason === "void";
    if (this.rules !== undefined && this.isOver === isVoid) {
      const goesOn = isVoid ? "The match was over, yet it is said to be void." : `Seat ${this.toMove + 1} is to move.`;
      yield step("end", false, `The last event is not the end that the footer tells of. ${goesOn}`);
      return;
    }
    const last = toHex(this.digest);
    const ok = footer.digest === last;
    const whose = ok ? "The last digest is the footer's:" : "The footer's digest should be";
    yield step("digest", ok, `${whose} ${short(last)}.`, { should: last, is: footer.digest });
    if (this.rules === undefined) return;
    const should = this.#result(isVoid);
    const is = Object.fromEntries(Object.keys(should).map((name) => [name, footer[name]]));
    const right = same(should, is);
    const { reason, ranks, plies } = should;
    const told = `Reason ${reason}, ranks ${ranks.join(", ")}, ${plies} moves: that follows by the rules.`;
    yield step("end", right, right ? told : `The result is wrong: ${difference(should, is)}.`, { should, is });
  }

  #wire() {
    return this.rules.wire?.(this.state) ?? this.state;
  }

  *#checkGiven(seat, given) {
    if (seat === null || !given) return;
    this.given[seat] += given;
    const most = Math.floor(this.header.clock.bank_ms * GIVEN_AT_MOST);
    if (this.given[seat] > most) {
      const text = `Seat ${seat + 1} was given back ${this.given[seat]} ms so far: at most ${most} may be.`;
      yield step("given", false, text);
    }
  }

  /** An event of a game whose rules are not known: its state is the document's. */
  async *#believed({ event, state }) {
    this.state = state ?? this.state;
    if (event.out !== undefined) this.out.set(event.seat, event.out);
  }

  async *#refereed({ event }) {
    if (this.isOver) {
      yield step("move", false, "The match was over before this event.");
      return;
    }
    if (this.deal !== undefined) {
      yield* this.#dealt(event);
      return;
    }
    yield* this.#strike();
    if (event.out !== undefined) yield* this.#left(event);
    else yield* this.#moved(event);
  }

  *#dealt(event) {
    const { event: should, dice } = this.deal;
    this.deal = undefined;
    const ok = same(should, event);
    const how = tellTrace(dice.trace, this.rules.told);
    const told = ok ? "Dealt as the dice say" : `Another deal than the dice say, ${difference(should, event)}`;
    yield step("deal", ok, `${told}: ${how}.`, { ...dice.trace, should, is: event });
  }

  /** The strikes of the seat whose turn it is. */
  *#strike() {
    const isDue = ({ ply, seat }) => ply === this.ply && seat === this.toMove;
    const due = this.awaited.filter(isDue);
    this.awaited = this.awaited.filter((strike) => !isDue(strike));
    for (const { seat, message } of due) {
      this.struck[seat] += 1;
      const ok = this.struck[seat] <= MAX_STRIKES;
      yield step("strikes", ok, `Strike ${this.struck[seat]} of ${MAX_STRIKES} for seat ${seat + 1}: ${message}`);
    }
  }

  /** Strikes at plies and of seats that had no turn. */
  *#late() {
    for (const { ply, seat } of this.awaited) {
      const text = `Move ${ply + 1} has a strike of seat ${seat + 1}, which was not to move.`;
      yield { ...step("strikes", false, text), ply };
    }
  }

  *#left(event) {
    const { seat, out } = event;
    const seats = this.header.seats.length;
    const isHere = seat >= 0 && seat < seats && !this.out.has(seat);
    const may = isHere && same(event, { ply: this.ply, seat, out });
    const known = LEAVING.includes(out);
    const earned = (out === "illegal") === (this.struck[seat] >= MAX_STRIKES);
    const ok = may && known && earned;
    const strikes = `it has ${this.struck[seat]} strikes of ${MAX_STRIKES}`;
    const wrong = may && known ? strikes : "it cannot leave now, or not so";
    yield step("out", ok, ok ? `Seat ${seat + 1} leaves: ${out}.` : `Seat ${seat + 1} leaves by ${shown(out)}: ${wrong}.`);
    if (!ok) return;
    if (seats > 2 && this.toMove !== null) this.state = this.rules.drop(this.state, seat);
    this.out.set(seat, out);
  }

  async *#moved(event) {
    const seat = this.toMove;
    if (event.seat !== seat || event.ply !== this.ply) {
      const turn = `seat ${seat + 1} is to make move ${this.ply + 1}`;
      yield step("move", false, `Seat ${event.seat + 1} makes move ${event.ply + 1}, but ${turn}.`);
      return;
    }
    if (this.struck[seat] >= MAX_STRIKES) {
      yield step("move", false, `Seat ${seat + 1} moves after its strike number ${MAX_STRIKES}.`);
      return;
    }
    const dice = new Dice(this.mac, this.ply);
    let played;
    try {
      played = await this.rules.play(this.state, event.move, dice);
    } catch (error) {
      if (!(error instanceof Illegal)) throw error;
      yield step("move", false, `The rules do not allow ${shown(event.move)}: ${error.message}.`);
      return;
    }
    const { state, event: should } = played;
    this.state = state;
    yield* this.#compared(should, event, dice);
  }

  *#compared(should, event, dice) {
    const isMove = same(should.move, event.move);
    const may = `Seat ${event.seat + 1} may play ${shown(event.move)}.`;
    yield step("move", isMove, isMove ? may : `The move is wrong: ${difference(should, event)}.`);
    if (should.dice !== undefined || event.dice !== undefined) {
      const ok = same(should.dice, event.dice);
      const how = dice.trace ? tellTrace(dice.trace, this.rules.told) : "there are none here";
      const wrong = `The dice are ${shown(should.dice)}, the record says ${shown(event.dice)}: ${how}.`;
      yield step("dice", ok, ok ? how : wrong, { ...dice.trace, should: should.dice, is: event.dice });
    }
    if (should.result !== undefined || event.result !== undefined) {
      const ok = same(should.result, event.result);
      const wrong = `The result should be ${shown(should.result)}, the record says ${shown(event.result)}.`;
      const told = ok ? `So ${shown(should.result)}.` : wrong;
      yield step("result", ok, told, { should: should.result, is: event.result });
    }
  }

  async *#chain(line) {
    const { event, state } = line;
    const text = canonical({ event, state: this.rules === undefined ? state : this.#wire() });
    const previous = toHex(this.digest);
    this.digest = await sha256(join(this.digest, utf8(text)));
    const should = toHex(this.digest);
    const ok = should === line.digest;
    const told = ok
      ? `The digest follows: ${short(should)}.`
      : `The digest does not follow: it should be ${short(should)}, the record says ${short(line.digest)}.`;
    yield step("digest", ok, told, { previous, canonical: text, should, is: line.digest });
  }

  #result(isVoid) {
    const seats = this.header.seats.map((_, seat) => seat);
    const { footer, rules, state, out } = this;
    if (isVoid) return { ranks: seats.map(() => 1), reason: "void", reasons: seats.map(() => "void"), plies: this.ply };
    const played = this.toMove === null;
    const ranks = played || seats.length > 2 ? rules.ranks(state) : seats.map((seat) => (out.has(seat) ? 2 : 1));
    const natural = played ? rules.reason(state) : "win";
    const reason = played ? natural : [...out.values()].at(-1);
    return { ranks, reason, reasons: seats.map((seat) => out.get(seat) ?? natural), plies: this.ply };
  }
}
