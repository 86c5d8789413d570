/** What moves on a board: for a quarter of a second, and not at all for who wants less motion. */

const QUICK = { duration: 250, easing: "ease-out" };
const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Let an element move to where and how it is.
 * @param {Element} element
 * @param {Keyframe[]} frames
 */
export function move(element, frames) {
  if (!still.matches) element.animate(frames, QUICK);
}
