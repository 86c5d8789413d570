/** Pictures of armies: infantry for one troop, cavalry for five, artillery for ten. */

/** The maximum number of troops that are also shown as pieces. */
export const MAX_PICTURED_TROOPS = 49;

export default ({ svg }) => {
  const PIECES = {
    artillery: "M-5 1-1.500-1 5-4.500 6-2.500 1 .5A2.800 2.800 0 1 1-3.700 2.300Z",
    cavalry: "M-4 5C-4 1-2 0-1.500-1.500L-4-.5-5-2-2-4.500-1.500-6 0-4.500C3-4 4 0 4 5Z",
    infantry: "M0-6a2 2 0 1 1-.1 0zM-2.500-1.500H2.500V2H1.500L1.200 5.500H-1.200L-1.500 2H-2.500Z",
  };

  const PIECE_WIDTH = 12; // width of a piece
  const MAX_ROW_PIECES = 5;

  /**
   * Return the pieces of an army, the large ones first.
   * @param {number} troops
   * @returns {string[]} names of PIECES
   */
  function piecesOf(troops) {
    const count = { artillery: Math.floor(troops / 10), cavalry: Math.floor((troops % 10) / 5), infantry: troops % 5 };
    return Object.keys(PIECES).flatMap((piece) => Array(count[piece]).fill(piece));
  }

  /**
   * Return the pieces of an army, in one or two rows above 0 0.
   * @param {number} troops
   * @returns {SVGElement[]}
   */
  function pieceRows(troops) {
    const pieces = piecesOf(troops);
    const half = Math.ceil(pieces.length / 2);
    const rows = pieces.length > MAX_ROW_PIECES ? [pieces.slice(0, half), pieces.slice(half)] : [pieces];
    return rows.flatMap((row, above) =>
      row.map((piece, at) => {
        const place = `translate(${PIECE_WIDTH * (at - (row.length - 1) / 2)} ${PIECE_WIDTH * (above + 1 - rows.length)})`;
        return svg("path", { d: PIECES[piece], transform: place });
      }),
    );
  }

  /**
   * Return a piece as a picture for a legend.
   * @param {"artillery" | "cavalry" | "infantry"} piece
   */
  function pieceSign(piece) {
    return svg("svg", { class: "piece-sign", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { d: PIECES[piece] }));
  }

  return { pieceRows, pieceSign };
};
