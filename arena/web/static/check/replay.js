// Referees a match again: compares each event of a record with what it should be, and checks the chain of digests.

import { canonical } from "./canonical.js";
import { Dice, tellTrace } from "./dice.js";
import { fromHex, join, sha256, toHex, utf8 } from "./hash.js";
import { IllegalMove } from "./moves.js";
import { difference, same, short, shown, step } from "./step-text.js";

const MAX_STRIKES = 3;
const LEAVING_REASONS = ["resigned", "timeout", "illegal", "disconnected", "no_show", "failed"];
const MAX_COMPENSATION_FRACTION = 0.01;
const CHANCE = -1;
const MAX_WEIGHT_SUM = 65536;
/** Errors of an event after which its digest is still checked. */
const CHANCE_FINDINGS = ["dice", "result", "deal"];

/** Return whether an event of a document has its state. An arena without the rules has it only if the record has it. */
function isKnown(state) {
  return state !== undefined && state !== null;
}

/** Return the sum of the weights of a draw's outcomes, or their number if all are equally likely; 0 if it is neither. */
function weightSum(among) {
  const weights = Array.isArray(among) ? among : [among];
  if (!weights.every((weight) => Number.isSafeInteger(weight) && weight > 0)) return 0;
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return sum <= MAX_WEIGHT_SUM ? sum : 0;
}

/** The course of one match. Call `begin`, then `enter` for each event, then `end`; each yields its findings. */
export class Course {
  /**
   * @param {object} document
   * @param {(message: Uint8Array) => Promise<Uint8Array>} mac HMAC with the match's key
   * @param {Uint8Array} digest D(0)
   * @param {import("./rules.js").Rules | undefined} rules undefined if they are unknown
   */
  constructor({ header, start, plies, strikes, sealed = [], footer }, mac, digest, rules) {
    Object.assign(this, { header, footer, mac, digest });
    this.cutOff = sealed;
    this.began = footer.reason !== "void" || [plies, strikes, sealed].some((lines) => lines.length > 0);
    this.awaited = [...strikes];
    this.isFirst = true;
    this.rules = rules;
    /** @type {boolean | undefined} whether digests are salted; undefined before the first one if the rules are unknown */
    this.isHidden = this.rules && Boolean(this.rules.hidden);
    const opensWithDeal = plies[0]?.event.seat === CHANCE; // then `start` is the state after that deal
    this.state = this.rules === undefined && !opensWithDeal ? start : null;
    this.deal = undefined;
    /** @type {Map<number, string>} why seats left, by seat */
    this.out = new Map();
    /** @type {Map<number, object>} choices in the unfinished round, by seat */
    this.sealed = new Map();
    this.struck = header.seats.map(() => 0);
    this.given = header.seats.map(() => 0);
  }

  /** The seat to move, several for simultaneous moves, -1 for chance, null at the end. */
  get toMove() {
    return this.state?.to_move ?? null;
  }

  /** The seats that have to move now. */
  get awaits() {
    const { toMove } = this;
    if (Array.isArray(toMove)) return toMove.filter((seat) => !this.sealed.has(seat));
    return toMove === null || toMove === CHANCE ? [] : [toMove];
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
      yield step("scope", null, `No move is refereed, because this page does not know the rules of ${game}.`);
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

  /** @param {{event: object, digest: string, state?: object, given?: number, sealed?: object[]}} line of the document */
  async *enter(line) {
    const steps = this.rules === undefined ? this.#believed(line) : this.#refereed(line);
    for await (const found of steps) {
      yield found;
      if (found.ok === false && !CHANCE_FINDINGS.includes(found.what)) return;
    }
    if (this.rules !== undefined && isKnown(line.state)) {
      const is = this.#wire();
      const ok = same(is, line.state);
      const text = ok ? "The state follows by the rules." : `The state is wrong: ${difference(is, line.state)}.`;
      yield step("state", ok, text);
    }
    yield* this.#chain(line);
  }

  async *end() {
    const { footer } = this;
    const isVoid = footer.reason === "void";
    const untold = isVoid ? this.awaited.map(({ seat }) => seat).sort() : [];
    if (this.rules !== undefined && isVoid) yield* this.#strike(this.#due());
    for (const line of this.rules === undefined ? [] : this.cutOff) {
      const found = this.#seal(line);
      yield { ...found, ply: line.ply };
      if (!found.ok) return;
    }
    if (this.rules !== undefined || !isVoid) yield* this.#late();
    if (this.rules !== undefined && this.isOver === isVoid) {
      const goesOn = isVoid ? "The match was over, but the footer says it is void." : `${this.#whoMoves()}.`;
      yield step("end", false, `The last event is not the end that the footer gives. ${goesOn}`);
      return;
    }
    if (untold.length) this.digest = await sha256(join(this.digest, utf8(canonical({ strikes: untold }))));
    if (!isVoid && this.header.rules !== undefined) this.digest = await sha256(join(this.digest, utf8(canonical({ result: this.#bound() }))));
    const last = toHex(this.digest);
    const ok = footer.digest === last;
    const whose = ok ? "The last digest is the footer's:" : "The footer's digest should be";
    yield step("digest", ok, `${whose} ${short(last)}.`, { should: last, is: footer.digest });
    if (this.rules === undefined) return;
    const should = this.#result(isVoid);
    const is = Object.fromEntries(Object.keys(should).map((name) => [name, footer[name]]));
    const right = same(should, is);
    const { reason, ranks, plies } = should;
    const called = `Called off after ${plies} moves, which may happen at any time: it rests on the arena's word.`;
    const result = `Reason ${reason}, ranks ${ranks.join(", ")}, ${plies} moves: this follows from the rules.`;
    const told = isVoid ? called : result;
    yield step("end", right, right ? told : `The result is wrong: ${difference(should, is)}.`, { should, is });
    yield* this.#paid(isVoid);
  }

  /** Describe who moves next. */
  #whoMoves() {
    const seats = this.awaits.map((seat) => `seat ${seat + 1}`);
    if (seats.length === 0) return "a deal is next";
    return `${seats.join(" and ")} ${seats.length === 1 ? "is" : "are"} to move`;
  }

  #wire() {
    return this.rules.wire?.(this.state) ?? this.state;
  }

  *#checkGiven(seat, given) {
    if (!(seat in this.given) || !given) return;
    this.given[seat] += given;
    const most = Math.floor(this.header.clock.bank_ms * MAX_COMPENSATION_FRACTION);
    if (this.given[seat] > most) {
      const text = `Seat ${seat + 1} got back ${this.given[seat]} ms so far: the limit is ${most} ms.`;
      yield step("given", false, text);
    }
  }

  /** Take over an event of a game with unknown rules, with the document's state. Check whose turn it was, and draws. */
  async *#believed({ event, state, sealed = [] }) {
    const { ply, to_move: seat } = this.state ?? {};
    if (event.out === undefined && Number.isInteger(seat)) {
      const ok = event.seat === seat && event.ply === ply;
      const whose = seat === CHANCE ? "chance" : `seat ${seat + 1}`;
      const told = ok ? `It was the turn of ${whose}.` : `It was the turn of ${whose} at move ${ply + 1}, not of this event.`;
      yield step("turn", ok, told);
    }
    if (this.header.rules !== undefined) {
      yield* this.#drawn(event);
      const chosen = this.header.seats.map((_, at) => sealed.find((line) => line.seat === at)?.move ?? null);
      if (event.moves && !same(chosen, event.moves)) {
        yield step("sealed", false, `The round has other moves than were sealed, ${difference(chosen, event.moves)}.`);
      }
    }
    this.state = state;
    for (const seat of event.strikes ?? []) {
      if (this.#take((each) => each.seat === seat && each.ply === event.ply) === undefined) {
        yield step("strikes", false, `The event has a strike of seat ${seat + 1} that the record does not have before it.`);
      }
    }
    if (event.out !== undefined) this.out.set(event.seat, event.out);
  }

  /** Draw a chance event again that says among how many outcomes, or with which weights, it was drawn. */
  async *#drawn({ ply, move }) {
    const sum = Object.keys(move ?? {}).sort().join() === "of,outcome" ? weightSum(move.of) : 0;
    if (sum === 0) return;
    const dice = new Dice(this.mac, ply);
    const number = await dice.choice("chance", sum);
    let below = 0;
    const drawn = Array.isArray(move.of) ? move.of.findIndex((weight) => number < (below += weight)) : number;
    const ok = drawn === move.outcome;
    const how = tellTrace(dice.trace, (choice) => choice.choice);
    const told = ok ? `Outcome ${drawn} follows from the dice` : `The dice give outcome ${drawn}, not ${shown(move.outcome)}`;
    yield step("deal", ok, `${told}: ${how}.`, { ...dice.trace, should: drawn, is: move.outcome });
  }

  async *#refereed({ event: { strikes, ...event }, given, sealed = [] }) {
    yield* this.#told(strikes, event);
    for (const line of sealed) {
      yield* this.#checkGiven(line.seat, line.given);
      yield this.#seal(line);
    }
    yield* this.#checkGiven(this.toMove, given);
    if (this.isOver) {
      yield step("move", false, "The match was over before this event.");
      return;
    }
    if (this.deal !== undefined || this.toMove === CHANCE) yield* this.#dealt(event);
    else if (this.sealed.size > 0 && this.awaits.length === 0) yield* this.#resolved(event);
    else if (event.out !== undefined) yield* this.#left(event);
    else yield* this.#moved(event);
  }

  /** Enter a move of a round with simultaneous moves, which is revealed together with the others. */
  #seal({ ply, seat, move }) {
    const who = `Seat ${seat + 1}`;
    const wrong = (why) => step("sealed", false, `${who} chooses ${shown(move)} in round ${ply + 1}: ${why}.`);
    if (this.isOver) return wrong("the match was over before");
    if (ply !== this.ply) return wrong(`the match is at move ${this.ply + 1}`);
    if (this.sealed.has(seat)) return wrong("it has chosen in this round");
    if (!Array.isArray(this.toMove) || !this.awaits.includes(seat)) return wrong(this.#whoMoves());
    if (this.struck[seat] >= MAX_STRIKES) return wrong(`it had its strike number ${MAX_STRIKES}`);
    try {
      this.rules.checkMove(this.state, seat, move);
    } catch (error) {
      if (!(error instanceof IllegalMove)) throw error;
      return wrong(`the rules do not allow it, ${error.message}`);
    }
    this.sealed.set(seat, move);
    return step("sealed", true, `${who} may choose ${shown(move)}. The choice stays secret until all have chosen.`);
  }

  /** Resolve a round in which all seats have chosen. */
  async *#resolved(event) {
    const moves = this.header.seats.map((_, seat) => this.sealed.get(seat) ?? null);
    this.sealed.clear();
    const dice = new Dice(this.mac, this.ply);
    const { state, event: should } = await this.rules.resolve(this.state, moves, dice);
    this.state = state;
    yield* this.#compared(should, event, dice);
  }

  async *#dealt(event) {
    let dealt = this.deal;
    this.deal = undefined;
    if (dealt === undefined) {
      const dice = new Dice(this.mac, this.ply);
      const { state, event: should } = await this.rules.chance(this.state, dice);
      this.state = state;
      dealt = { event: should, dice };
    }
    const { event: should, dice } = dealt;
    const ok = same(should, event);
    const how = tellTrace(dice.trace, this.rules.told);
    const told = ok ? "The deal follows from the dice" : `The deal does not follow from the dice, ${difference(should, event)}`;
    yield step("deal", ok, `${told}: ${how}.`, { ...dice.trace, should, is: event });
  }

  /** Remove and return the strikes of the seats that have to move. */
  #due() {
    if (this.isOver || this.deal !== undefined) return [];
    const due = this.awaited.filter((strike) => this.#isDue(strike));
    this.awaited = this.awaited.filter((strike) => !due.includes(strike));
    return due;
  }

  #isDue({ ply, seat }) {
    return ply === this.ply && this.awaits.includes(seat);
  }

  /** Remove and return the first strike that fulfils the condition. */
  #take(isSuch) {
    const at = this.awaited.findIndex(isSuch);
    return at < 0 ? undefined : this.awaited.splice(at, 1)[0];
  }

  /** Check that an event's strikes are those of the record; the first event lists them even if there are none. */
  *#told(strikes, event) {
    const { isFirst } = this;
    this.isFirst = false;
    if (isFirst ? strikes === undefined : strikes?.length === 0) {
      yield step("strikes", false, "The first event of a match must have the field strikes; later ones have it if there are any.");
      return;
    }
    for (const seat of strikes ?? []) {
      const strike = this.#take((each) => each.seat === seat && this.#isDue(each));
      if (strike === undefined) {
        const text = `The event has a strike of seat ${seat + 1} that the record does not have before it.`;
        yield step("strikes", false, text);
        return;
      }
      yield* this.#strike([strike]);
    }
    const isUntold = (each) => this.#isDue(each) && (event.seat === CHANCE || event.seat === each.seat);
    const untold = this.deal === undefined && this.awaited.find(isUntold);
    if (untold) {
      const text = `The record has a strike of seat ${untold.seat + 1} before this event, but the event does not have it.`;
      yield step("strikes", false, text);
    }
  }

  *#strike(due) {
    for (const { seat, message } of due) {
      this.struck[seat] += 1;
      const ok = this.struck[seat] <= MAX_STRIKES ? null : false; // a refused move is in no record
      yield step("strikes", ok, `Strike ${this.struck[seat]} of ${MAX_STRIKES} for seat ${seat + 1}: ${message}`);
    }
  }

  /** Report strikes of seats that were not to move. */
  *#late() {
    for (const { ply, seat } of this.awaited) {
      const text = `Move ${ply + 1} has a strike of seat ${seat + 1}, which was not to move or that no event has.`;
      yield { ...step("strikes", false, text), ply };
    }
  }

  *#left(event) {
    const { seat, out } = event;
    const seats = this.header.seats.length;
    const isHere = seat >= 0 && seat < seats && !this.out.has(seat);
    const may = isHere && same(event, { ply: this.ply, seat, out });
    const known = LEAVING_REASONS.includes(out);
    const earned = (out === "illegal") === (this.struck[seat] >= MAX_STRIKES);
    const ok = may && known && earned;
    const strikes = `it has ${this.struck[seat]} strikes of ${MAX_STRIKES}`;
    const wrong = may && known ? strikes : "it cannot leave now, or not in this way";
    if (!ok) {
      yield step("out", false, `Seat ${seat + 1} leaves by ${shown(out)}: ${wrong}.`);
      return;
    }
    const how = out === "illegal" ? `it had ${MAX_STRIKES} strikes` : "the reason rests on the arena's word";
    yield step("out", out === "illegal" ? true : null, `Seat ${seat + 1} leaves: ${out}. It may leave now; ${how}.`);
    if (seats > 2 && this.toMove !== null) this.state = this.rules.drop(this.state, seat);
    this.out.set(seat, out);
    if (seats > 2) this.sealed.delete(seat);
    else this.sealed.clear();
  }

  async *#moved(event) {
    const seat = this.toMove;
    if (Array.isArray(seat)) {
      const told = event.moves === undefined ? `Seat ${event.seat + 1} moves alone` : "The event has moves of all seats";
      const seats = this.awaits.map((each) => `seat ${each + 1}`).join(" and ");
      yield step("move", false, `${told} in round ${this.ply + 1}, but ${seats} had not chosen yet.`);
      return;
    }
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
      if (!(error instanceof IllegalMove)) throw error;
      yield step("move", false, `The rules do not allow ${shown(event.move)}: ${error.message}.`);
      return;
    }
    const { state, event: should } = played;
    this.state = state;
    yield* this.#compared(should, event, dice);
  }

  *#compared(should, event, dice) {
    const told = ({ ply, seat, move, moves, out }) => ({ ply, seat, move, moves, out });
    const isMove = same(told(should), told(event));
    const may = event.moves
      ? `These moves were chosen: ${shown(event.moves)}.`
      : `Seat ${event.seat + 1} may play ${shown(event.move)}.`;
    yield step("move", isMove, isMove ? may : `The move is wrong: ${difference(told(should), told(event))}.`);
    if (should.dice !== undefined || event.dice !== undefined) {
      const ok = same(should.dice, event.dice);
      const how = dice.trace ? tellTrace(dice.trace, this.rules.told) : "no dice are rolled here";
      const wrong = `The dice are ${shown(should.dice)}, the record says ${shown(event.dice)}: ${how}.`;
      yield step("dice", ok, ok ? how : wrong, { ...dice.trace, should: should.dice, is: event.dice });
    }
    if (should.result !== undefined || event.result !== undefined) {
      const ok = same(should.result, event.result);
      const drawn = should.dice === undefined ? dice.traces : [];
      const how = drawn.map((trace) => tellTrace(trace, this.rules.told)).join("; ");
      const wrong = `The result should be ${shown(should.result)}, the record says ${shown(event.result)}`;
      const said = ok ? `So ${shown(should.result)}` : wrong;
      const detail = { should: should.result, is: event.result, ...(how && { drawn }) };
      yield step("result", ok, `${said}${how && `: ${how}`}.`, detail);
    }
  }

  async *#chain(line) {
    const { event, state } = line;
    if (this.rules === undefined && !isKnown(state)) {
      this.digest = fromHex(line.digest);
      yield step("digest", null, "The digest is not checked: it covers the state, which only the rules give.");
      return;
    }
    let text;
    try {
      text = canonical({ event, state: this.rules === undefined ? state : this.#wire() });
    } catch (error) {
      if (this.rules !== undefined || !(error instanceof RangeError)) throw error;
      this.digest = fromHex(line.digest);
      yield step("digest", null, `The digest is not checked, because a browser can't compute with this number: ${error.message}.`);
      return;
    }
    const before = this.digest;
    const previous = toHex(before);
    const follow = async (isHidden) => {
      const salt = isHidden ? await this.mac(join(utf8("bot-arena/1/salt"), before)) : new Uint8Array();
      return [salt, await sha256(join(before, salt, utf8(text)))];
    };
    let salt;
    [salt, this.digest] = await follow(this.isHidden ?? false);
    if (this.isHidden === undefined) {
      // The rules say whether a game hides something. If they are unknown, the first digest shows it.
      const [withSalt, salted] = await follow(true);
      this.isHidden = toHex(salted) === line.digest;
      if (this.isHidden) [salt, this.digest] = [withSalt, salted];
    }
    const should = toHex(this.digest);
    const ok = should === line.digest;
    const told = ok
      ? `The digest follows: ${short(should)}.`
      : `The digest does not follow: it should be ${short(should)}, the record says ${short(line.digest)}.`;
    const salted = this.isHidden && { salt: toHex(salt) };
    yield step("digest", ok, told, { previous, ...salted, canonical: text, should, is: line.digest });
  }

  /** Check the payoffs per round, if they are the result; a seat that left gets the minimum for the remaining rounds. */
  *#paid(isVoid) {
    const { footer, state, out } = this;
    const { payoffs } = this.rules;
    const counts = payoffs !== undefined && !isVoid;
    if (!counts && footer.payoffs === undefined && footer.rounds === undefined) return;
    const [complete, toCome] = counts ? payoffs.rounds(state) : [0, 0];
    const paid = this.header.seats.map((_, seat) => {
      const total = counts ? payoffs.returns(state)[seat] : 0;
      return out.has(seat) ? [total + payoffs?.least[seat] * toCome, complete + toCome] : [total, complete];
    });
    const means = counts ? paid.map(([total, rounds]) => (rounds ? total / rounds : null)) : undefined;
    const rounds = counts ? paid.map(([, number]) => number) : undefined;
    const told = ([paidEach, number]) => JSON.stringify(paidEach === undefined ? "none" : [paidEach, number]);
    const [should, is] = [told([means, rounds]), told([footer.payoffs, footer.rounds])];
    const ok = should === is;
    const right = `Paid a round: ${means?.join(" and ")}, the means over ${rounds?.join(" and ")} rounds.`;
    yield step("payoffs", ok, ok ? right : `The payoffs and their rounds should be ${should}, the footer says ${is}.`);
  }

  /** Return the result as the last digest of a game that does not come with bot-arena has it. */
  #bound() {
    const { ranks, reason, reasons, payoffs, rounds } = this.footer;
    const paid = payoffs?.map((mean, seat) => [Math.round((mean ?? 0) * rounds[seat]), rounds[seat]]);
    return { ranks, reason, reasons, payoffs: paid ?? null };
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
