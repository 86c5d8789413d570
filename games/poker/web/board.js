/**
 * The board of two-player poker: the cards, the pot, the bets of this hand, and the hands so far. A person sits on the
 * left.
 */

import makeCards from "./cards.js";
import { ANTE, LETTERS, STAKES, UNDEALT_HAND, eventsOfHand, handsIn } from "./hands.js";

export default (kit, game) => {
  const { Board, Choices, History, counted, el, makeSeatSymbol, moversOf, put, say, seatWithVerb, sentence, signedText } = kit;
  const { CardPlace, cardName, cardText } = makeCards(kit, game);
  const stakes = STAKES[game];
  const KEYS = { fold: "f", check: "c", call: "c", bet: "b", raise: "r" };
  const ACTION_VERBS = { fold: "folds", check: "checks", call: "calls", bet: "bets", raise: "raises" };
  const MAX_DISCS = 13;

  const ownOnly = (cards, eye) => cards.map((card, seat) => (seat === eye ? card : null));
  const CARDS_SEEN = {
    state: (state, eye) => (state.cards ? { ...state, cards: ownOnly(state.cards, eye) } : state),
    event: (event, eye) => (event.seat < 0 && event.move?.cards ? { ...event, move: { cards: ownOnly(event.move.cards, eye) } } : event),
  };

  class PokerBoard extends Board {
    constructor(match) {
      super(match, game);
      this.element.classList.add("board-poker");
      this.places = match.seats.map((_, seat) => makePlace(seat));
      this.public = stakes.length > 1 ? new CardPlace() : null;
      this.pot = el("b");
      this.deal = el("p", { class: "deal" });
      const middle = el("div", { class: "middle" }, this.deal, this.public?.element, el("p", { class: "pot" }, "pot ", this.pot));
      this.middle = middle;
      this.bets = el("ol", { class: "bets", "aria-label": "bets in this hand" });
      this.felt = el("div", { class: "felt" });
      this.before = el("p", { class: "hand-before" });
      this.history = new History(match.seats, "hand");
      this.face.append(this.felt, this.bets, this.before, this.history.element);
      this.choices = new Choices((move) => this.choose(move));
      this.controls.append(this.choices.element);
      this.left = null;
    }

    draw() {
      const mine = this.view.seat ?? 0;
      if (this.left !== mine) {
        this.left = mine;
        this.felt.replaceChildren(this.places[mine].element, this.middle, this.places[1 - mine].element);
      }
      const hands = handsIn(this.view.past ?? [], this.state.hand);
      const over = hands.filter(({ result }) => result !== null);
      const shown = this.#shown(hands);
      const isOver = shown.result !== null;
      const movers = moversOf(this.state.to_move);
      for (const [seat, place] of this.places.entries()) {
        const who = this.#who(seat);
        place.card.show(shown.cards?.[seat], `${who}`);
        say(place.name, who);
        say(place.paid, shown.paid[seat]);
        drawDiscs(place, shown.paid[seat]);
        put(place.element, "data-to-move", movers.includes(seat));
        put(place.element, "data-won", isOver && shown.result.won === seat);
        put(place.element, "data-folded", isOver && shown.folded === seat);
        say(place.does, shown.does[seat]);
        put(place.first, "hidden", shown.first !== seat);
      }
      this.public?.show(shown.public ?? undefined, "public card");
      say(this.deal, `Hand ${shown.number} of ${this.config.hands}`);
      say(this.pot, shown.paid[0] + shown.paid[1]);
      this.#drawBets(shown.bets);
      this.#tellLast(over.at(-1));
      this.#drawHistory(over, mine);
      const options = this.isPlayable ? this.#options() : [];
      this.choices.offer(options, options.find(({ move }) => move.do === "check" || move.do === "call")?.name); // so that pressing a key twice by mistake never folds
    }

    get listsMoves() {
      return true;
    }

    get instructions() {
      return "Press an action or its key. Your opponent does not see your card before the showdown.";
    }

    statusText() {
      const { hand, cards, to_move: mover } = this.state;
      if (mover === null) return "";
      if (cards === null && hand > 0) return `Hand ${hand} of ${this.config.hands} is over`;
      const what = `Hand ${hand + 1} of ${this.config.hands}`;
      return mover < 0 || mover === this.view.seat ? what : `${what}: ${super.statusText()}`;
    }

    strength(seat) {
      const chips = this.state.chips[seat];
      return { words: `${signedText(chips)} ${Math.abs(chips) === 1 ? "chip" : "chips"}`, short: signedText(chips), share: null, out: false };
    }

    describe(state) {
      const { hand, cards, public: up, paid, chips, to_move: mover } = state;
      const has = (seat) => `${this.player(seat)} has won ${signedText(chips[seat])}`;
      if (mover === null) return `${has(0)}, ${has(1)}. The game is over.`;
      if (cards === null) return `${has(0)}, ${has(1)}. Hand ${hand + 1} is dealt next.`;
      const holds = cards.map((card, seat) => (card === null ? "" : `${this.player(seat)} holds ${cardName(card)}. `)).join("");
      const table = up === null ? "" : `The public card is ${cardName(up)}. `;
      return `Hand ${hand + 1}. ${holds}${table}The pot is ${paid[0] + paid[1]}, ${paid[0]} and ${paid[1]}. ${has(0)}, ${has(1)}. ${mover < 0 ? "The public card is next." : `${this.player(mover)} is to move.`}`;
    }

    /** Show the end of a hand before the next one is dealt, as an intermediate step of the turn. */
    steps(turn) {
      const at = turn.events.findLastIndex(({ result }) => result);
      if (at < 0 || turn.state.to_move === null || turn.state.cards === null) return [];
      const between = { ...turn.state, ...UNDEALT_HAND };
      return [{ state: between, event: turn.events[at], left: turn.events.length - 1 - at, text: "The hand is over." }];
    }

    static moveText(config, move) {
      return move.do ?? JSON.stringify(move);
    }

    static dealText(move) {
      return move.cards ? `deals ${move.cards.map(cardText).join(" and ")}` : `turns up ${cardText(move.public)}`;
    }

    /** Return the end of a hand: "K♠ and Q♠, ann wins 2". */
    static resultText({ result }, seats) {
      if (!result) return "";
      const { won, chips, cards } = result;
      const shown = cards ? `${cards.map(cardText).join(" and ")}, ` : "";
      const winner = seats[won]?.bot ?? `seat ${won + 1}`;
      return shown + (won === null ? "the pot is shared" : `${winner} ${winner === "you" ? "win" : "wins"} ${counted(chips, "chip")}`);
    }

    static endingText({ state, ...ended }, [winner, ...others]) {
      if (!state?.chips) return undefined;
      if (others.length > 0) return "nobody won a chip";
      return `${seatWithVerb(ended, winner, "won", "won")} ${counted(state.chips[winner], "chip")} in ${counted(state.hand, "hand")}`;
    }

    /** Name the hand, which states count from 0. */
    static placeText(number, state) {
      return state ? `hand ${state.hand + 1}` : super.placeText(number);
    }

    static gradeScaleText(unit) {
      return `In ${unit} of the hand, against an opponent who plays the equilibrium, and by what the seat knew.`;
    }

    /** Each seat knows its own card. */
    static viewsOf() {
      return CARDS_SEEN;
    }

    /** Return the events of the hand on the table. */
    static eventsBefore(state) {
      return state.cards ? eventsOfHand(state) : [];
    }

    #who(seat) {
      return seat === this.view.seat ? "you" : this.seats[seat].bot;
    }

    /** Return the hand on the table: the current one, or the last until the next is dealt. */
    #shown(hands) {
      const { hand, cards, public: up, bets, to_move: mover } = this.state;
      const last = hands.at(-1);
      if (cards !== null) {
        const told = bets.map((made) => [...made].map((letter, at) => ({ seat: (hand + at) % 2, move: LETTERS[letter] })));
        return { number: hand + 1, first: hand % 2, cards, public: up, bets: told, paid: this.state.paid, result: null, folded: null, does: this.#does(told, mover) };
      }
      if (!last?.result) return { number: Math.min(hand + 1, this.config.hands), first: hand % 2, cards: undefined, public: null, bets: [], paid: [ANTE, ANTE], result: null, folded: null, does: ["", ""] };
      const { paid, folded } = paidIn(last.bets);
      const does = [0, 1].map((seat) => (last.result.won === null ? "shares" : last.result.won === seat ? `wins ${last.result.chips}` : folded === seat ? "folds" : ""));
      return { ...last, paid, folded, does: does.map((word, seat) => (seat === this.view.seat ? word.replace(/^(win|fold|share)s/, "$1") : word)) };
    }

    /** Return the last action of each seat in the current hand. */
    #does(bets, mover) {
      return [0, 1].map((seat) => {
        const did = bets.at(-1).findLast((bet) => bet.seat === seat);
        if (did === undefined || seat === mover) return "";
        return seat === this.view.seat ? did.move : ACTION_VERBS[did.move];
      });
    }

    #options() {
      const { bets, paid } = this.state;
      const stake = stakes[bets.length - 1];
      const owed = Math.max(...paid) - paid[this.view.seat ?? this.state.to_move];
      const costs = { fold: "", check: "", call: owed, bet: stake, raise: owed + stake };
      return this.view.legal.map((move) => ({ name: move.do.replace(/^./, capital), more: costs[move.do], key: KEYS[move.do], move }));
    }

    #drawBets(bets) {
      const items = bets.flatMap((round, at) => [
        ...(at === 0 ? [] : [el("li", { class: "turn-up" }, "public card")]),
        ...round.map(({ seat, move }) => el("li", { class: `seat-${seat}` }, makeSeatSymbol(seat), `${move}${move === "bet" || move === "raise" ? ` ${stakes[at]}` : ""}`)),
      ]);
      const key = items.map((item) => item.className + item.textContent).join();
      if (key === this.bets.dataset.key) return;
      put(this.bets, "data-key", key);
      this.bets.replaceChildren(...items);
    }

    #tellLast(hand) {
      const words = hand === undefined ? "" : `Hand ${hand.number}: ${handInWords(hand, (seat) => this.#who(seat))}`;
      say(this.before, words);
    }

    #drawHistory(over, mine) {
      const columns = over.map((hand) => {
        const { won, chips } = hand.result;
        const marks = [0, 1].map((seat) => (won === null ? { text: "0", kind: "shared" } : { text: signedText(seat === won ? chips : -chips), kind: seat === won ? "choice-0" : "lost" }));
        return { number: hand.number, marks, title: sentence(handInWords(hand, (seat) => this.#who(seat))) };
      });
      this.history.show(columns, {
        names: this.seats.map((_, seat) => this.#who(seat)),
        totals: this.state.chips.map(signedText),
        caption: this.state.hand === 0 ? "No hand is over yet" : `Hands so far: ${this.state.hand} of ${this.config.hands}`,
        order: [mine, 1 - mine],
      });
    }
  }

  /**
   * Describe how a hand ended: "ann wins 2 with K♠ against Q♠".
   * @param {import("./hands.js").Hand} hand
   * @param {(seat: number) => string} who
   */
  function handInWords({ cards, bets, result }, who) {
    const { won, chips } = result;
    const last = bets.at(-1).at(-1);
    const wins = (seat) => `${who(seat)} ${who(seat) === "you" ? "win" : "wins"}`;
    if (last?.move === "fold") return `${wins(won)} ${counted(chips, "chip")}: ${who(last.seat)} ${who(last.seat) === "you" ? "fold" : "folds"}`;
    const [one, two] = cards.map((card) => cardText(card));
    if (won === null) return `${one} and ${two} share the pot`;
    return `${wins(won)} ${counted(chips, "chip")}, ${won === 0 ? one : two} against ${won === 0 ? two : one}`;
  }

  /** Return what both paid in a hand, from its bets, and who folded. */
  function paidIn(bets) {
    const paid = [ANTE, ANTE];
    let folded = null;
    for (const [round, made] of bets.entries()) {
      for (const { seat, move } of made) {
        if (move === "fold") folded = seat;
        else if (move !== "check") paid[seat] = Math.max(...paid) + (move === "call" ? 0 : stakes[round]);
      }
    }
    return { paid, folded };
  }

  function capital(letter) {
    return letter.toUpperCase();
  }

  function makePlace(seat) {
    const card = new CardPlace();
    const [name, does, paid] = [el("b", { class: "place-name" }), el("span", { class: "does" }), el("b")];
    const first = el("span", { class: "first", title: "moves first in this hand" }, "first");
    const discs = el("span", { class: "discs", "aria-hidden": "true" });
    const element = el("div", { class: `place seat-${seat}` }, el("p", { class: "place-who" }, makeSeatSymbol(seat), name), card.element, el("p", { class: "paid" }, discs, el("span", {}, "paid ", paid)), el("p", { class: "place-does" }, does, first));
    return { element, card, name, does, paid, first, discs };
  }

  function drawDiscs(place, count) {
    while (place.discs.childElementCount > Math.min(count, MAX_DISCS)) place.discs.lastElementChild.remove();
    while (place.discs.childElementCount < Math.min(count, MAX_DISCS)) place.discs.append(el("i"));
  }

  return PokerBoard;
};
