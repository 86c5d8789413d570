/** Creates elements. Texts are always text and never parsed as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Create an HTML element. Attributes that are null, undefined or false are left out; true gives an empty one.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] `on…` are listeners
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/**
 * Create an SVG element; see `el`.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * Set an attribute, or remove it if the value is null, undefined or false. Unchanged values are not written.
 * @param {Element} element
 * @param {string} name
 * @param {unknown} value
 */
export function put(element, name, value) {
  const text = value === true ? "" : String(value);
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/**
 * Set the text of an element, if it differs.
 * @param {Element} element
 * @param {string | number} text
 */
export function say(element, text) {
  if (element.textContent !== String(text)) element.textContent = String(text);
}

/**
 * Show an error beside a field and focus the field; an empty sentence removes the error.
 * @param {HTMLElement} field
 * @param {Element} place where the error is shown
 * @param {string} sentence
 */
export function complain(field, place, sentence) {
  const isWrong = sentence !== "";
  say(place, sentence);
  put(field, "aria-invalid", isWrong ? "true" : null);
  if (isWrong) field.focus();
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else put(element, name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined).map(node));
  return element;
}

function node(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}
