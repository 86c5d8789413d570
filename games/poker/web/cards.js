/** Cards of small decks: names, and pictures of faces and backs. */

const CARDS_PER_RANK = { kuhn: 1, leduc: 2 };

export default ({ put, say, svg }, game) => {
  const RANKS = ["J", "Q", "K"];
  const NAMES = ["jack", "queen", "king"];
  const SUITS = ["spades", "hearts"];
  const SIGNS = { spades: "♠", hearts: "♥" };
  const PATHS = {
    spades: "M0-11C4-5 11-2 11 4 11 9 5 10 1.5 6.5L4 12H-4L-1.5 6.5C-5 10-11 9-11 4-11-2-4-5 0-11z",
    hearts: "M0 11C-4 5-11 2-11-4-11-10-3-11 0-5 3-11 11-10 11-4 11 2 4 5 0 11z",
  };
  const cardsPerRank = CARDS_PER_RANK[game];

  /**
   * Return a card in two characters, like "K♠", or "an unseen card".
   * @param {number | null} card
   */
  function cardText(card) {
    return card === null ? "an unseen card" : `${RANKS[rankOf(card)]}${SIGNS[suitOf(card)]}`;
  }

  /**
   * Return a card's name, like "the king of spades".
   * @param {number | null} card
   */
  function cardName(card) {
    return card === null ? "an unseen card" : `the ${NAMES[rankOf(card)]} of ${suitOf(card)}`;
  }

  /** @returns {number} the rank; 0 is the lowest */
  function rankOf(card) {
    return Math.floor(card / cardsPerRank);
  }

  function suitOf(card) {
    return SUITS[card % cardsPerRank];
  }

  /** A place on the table that shows a card's face, its back, or no card. */
  class CardPlace {
    constructor() {
      this.rank = svg("text", { class: "rank", x: 50, y: 98 });
      this.corner = svg("text", { class: "corner-rank", x: 16, y: 27 });
      this.small = svg("path", { class: "suit", transform: "translate(16 42) scale(.75)" });
      this.large = svg("path", { class: "suit", transform: "translate(50 36) scale(1.35)" });
      const face = svg("g", { class: "face-up" }, this.corner, this.small, this.large, this.rank);
      const lattice = svg("path", { class: "lattice", d: latticeIn(14, 14, 86, 126) });
      const back = svg("g", { class: "face-down" }, svg("rect", { class: "frame", x: 10, y: 10, width: 80, height: 120, rx: 5 }), lattice);
      this.element = svg("svg", { class: "card", viewBox: "0 0 100 140", role: "img" }, svg("rect", { class: "paper", x: 2, y: 2, width: 96, height: 136, rx: 9 }), face, back);
    }

    /**
     * @param {number | null | undefined} card null for a back, undefined for an empty place
     * @param {string} whose the owner's name, for the accessible label
     */
    show(card, whose) {
      put(this.element, "data-side", card === undefined ? "none" : card === null ? "down" : "up");
      const words = card === undefined ? "no card" : cardName(card);
      put(this.element, "aria-label", `${whose}: ${words}`);
      if (card === undefined || card === null) return;
      const suit = suitOf(card);
      put(this.element, "data-suit", suit);
      for (const text of [this.rank, this.corner]) say(text, RANKS[rankOf(card)]);
      for (const sign of [this.small, this.large]) put(sign, "d", PATHS[suit]);
    }
  }

  /** Return the path of diamonds that fill a rectangle. */
  function latticeIn(left, top, right, bottom) {
    const [wide, high] = [(right - left) / 5, (bottom - top) / 7];
    let d = "";
    for (let row = 0; row < 7; row++) {
      for (let column = 0; column < 5; column++) {
        const [x, y] = [left + (column + 0.5) * wide, top + row * high];
        d += `M${x.toFixed(1)} ${y.toFixed(1)}l${wide / 2} ${high / 2} ${-wide / 2} ${high / 2} ${-wide / 2} ${-high / 2}z`;
      }
    }
    return d;
  }

  return { CardPlace, cardName, cardText };
};
