/** Animations of a board: a quarter of a second, and none if the visitor prefers reduced motion. */

const ANIMATION_OPTIONS = { duration: 250, easing: "ease-out" };

/**
 * Animate an element to its present position and look.
 * @param {Element} element
 * @param {Keyframe[]} frames
 */
export function animate(element, frames) {
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) element.animate(frames, ANIMATION_OPTIONS);
}
