/** Symbols of seats and armies: a shape for each seat; infantry for one troop, cavalry for five, artillery for ten. */

import { svg } from "../dom.js";

const SEAT_SHAPES = [
  "M0-13a13 13 0 1 1-.1 0z",
  "M-12-12h24v24h-24z",
  "M0-16 16 0 0 16-16 0z",
  "M-13-12h26v12L0 16-13 0z",
  "M-16 0-8-13.500H8L16 0 8 13.500H-8z",
  "M-6-15H6v9h9V6H6v9H-6V6h-9V-6h9z",
];

const PIECES = {
  artillery: "M-5 1-1.500-1 5-4.500 6-2.500 1 .5A2.800 2.800 0 1 1-3.700 2.300Z",
  cavalry: "M-4 5C-4 1-2 0-1.500-1.500L-4-.5-5-2-2-4.500-1.500-6 0-4.500C3-4 4 0 4 5Z",
  infantry: "M0-6a2 2 0 1 1-.1 0zM-2.500-1.500H2.500V2H1.500L1.200 5.500H-1.200L-1.500 2H-2.500Z",
};

const PIECE_WIDTH = 12; // width of a piece
const MAX_ROW_PIECES = 5;

/** The maximum number of troops that are also shown as pieces. */
export const MAX_PICTURED_TROOPS = 49;

/**
 * Return the path of a seat's shape, some 26 units wide, centred at 0 0; empty for a free territory.
 * @param {number} seat
 */
export function shapeOf(seat) {
  return SEAT_SHAPES[seat] ?? "";
}

/**
 * Return a seat's symbol, to stand beside a name.
 * @param {number} seat
 * @returns {SVGElement}
 */
export function makeSeatSymbol(seat) {
  const sign = svg("svg", { class: `seat-sign seat-${seat}`, viewBox: "-17 -17 34 34", "aria-hidden": "true" });
  sign.append(svg("path", { d: shapeOf(seat) }), svg("text", { y: 6 }, seat + 1));
  return sign;
}

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
export function pieceRows(troops) {
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
export function pieceSign(piece) {
  return svg("svg", { class: "piece-sign", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { d: PIECES[piece] }));
}
