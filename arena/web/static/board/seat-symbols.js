/** Symbols of seats: a shape and a colour for each. */

import { svg } from "../dom.js";

const SEAT_SHAPES = [
  "M0-13a13 13 0 1 1-.1 0z",
  "M-12-12h24v24h-24z",
  "M0-16 16 0 0 16-16 0z",
  "M-13-12h26v12L0 16-13 0z",
  "M-16 0-8-13.500H8L16 0 8 13.500H-8z",
  "M-6-15H6v9h9V6H6v9H-6V6h-9V-6h9z",
];

/**
 * Return the path of a seat's shape, some 26 units wide, centred at 0 0; empty for no seat.
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
