/** Animations of a board: a quarter of a second, and none if the visitor prefers reduced motion. */

const QUICK = { duration: 250, easing: "ease-out" };
const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Animate an element to its present position and look.
 * @param {Element} element
 * @param {Keyframe[]} frames
 */
export function move(element, frames) {
  if (!still.matches) element.animate(frames, QUICK);
}
