/** Pictures of the dice of a battle. */

export default ({ el, svg }) => {
  const PIPS = { 1: [[0, 0]], 2: [[-1, -1], [1, 1]], 3: [[-1, -1], [0, 0], [1, 1]] };
  PIPS[4] = [...PIPS[2], [-1, 1], [1, -1]];
  PIPS[5] = [...PIPS[4], [0, 0]];
  PIPS[6] = [...PIPS[4], [-1, 0], [1, 0]];
  const MAX_DRAWN_ROUNDS = 10; // rounds that are drawn

  /**
   * Return the rounds of a battle, each with the attacker's dice above the defender's; null without dice.
   * @param {{seat: number, dice?: number[][]}} event
   * @param {number} defender seat; -1 if unknown
   * @returns {HTMLElement | null}
   */
  function diceRow(event, defender) {
    const rounds = [];
    const rows = event.dice ?? [];
    for (let at = 0; at + 1 < rows.length && rounds.length < MAX_DRAWN_ROUNDS; at += 2) {
      rounds.push(el("li", {}, side(rows[at], event.seat), side(rows[at + 1], defender)));
    }
    const more = Math.floor(rows.length / 2) - rounds.length;
    if (more > 0) rounds.push(el("li", { class: "more" }, `and ${more} more`));
    return rounds.length ? el("ol", { class: "dice-rounds", "aria-label": "dice by round" }, ...rounds) : null;
  }

  function side(faces, seat) {
    const dice = [...faces].sort((a, b) => b - a).map((face) => die(face, seat));
    const who = seat < 0 ? "the defender" : `seat ${seat + 1}`;
    return el("span", { class: "dice", role: "img", "aria-label": `${who} rolled ${faces.join(", ")}` }, ...dice);
  }

  function die(face, seat) {
    const pips = (PIPS[face] ?? []).map(([x, y]) => svg("circle", { cx: 6 * x, cy: 6 * y, r: 2.4 }));
    return svg("svg", { class: `die seat-${seat < 0 ? "none" : seat}`, viewBox: "-12 -12 24 24" }, svg("rect", { x: -11, y: -11, width: 22, height: 22, rx: 4 }), ...pips);
  }

  return diceRow;
};
