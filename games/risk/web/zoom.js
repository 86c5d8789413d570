/** A closer look at a picture: by buttons, by two fingers, by a wheel with Ctrl. Then a finger or the mouse moves it. */

export default ({ el, put }) => {
  const MAX_FACTOR = 6;
  const STEP = 1.6; // by a press of a button
  const WHEEL_STEP = 0.01; // of the logarithm, for a pixel of the wheel
  const DRAG_PX = 8; // a finger that moves less has pressed

  class Zoom {
    #picture;
    #whole;
    #changed;
    #view;
    #fingers = new Map(); // by pointer: where it is on the screen
    #moved = false; // since the first finger came down: what comes is no press
    #from = null; // where the first finger came down
    #buttons;

    /**
     * @param {SVGSVGElement} picture
     * @param {{width: number, height: number}} size  of all of it, in its units
     * @param {() => void} changed  called when another part is seen
     */
    constructor(picture, { width, height }, changed) {
      this.#picture = picture;
      this.#whole = { x: 0, y: 0, width, height };
      this.#view = this.#whole;
      this.#changed = changed;
      const button = (name, sign, press) => el("button", { type: "button", "aria-label": name, title: name, onclick: press }, sign);
      this.#buttons = {
        all: button("Whole map", "⤢", () => this.#see(this.#whole)),
        farther: button("Zoom out", "−", () => this.#by(1 / STEP)),
        closer: button("Zoom in", "+", () => this.#by(STEP)), // at the edge, where it stays when the others come
      };
      this.element = el("div", { class: "zoom", role: "group", "aria-label": "zoom" }, ...Object.values(this.#buttons));
      picture.addEventListener("pointerdown", (event) => this.#down(event));
      picture.addEventListener("touchstart", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
      picture.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
      picture.addEventListener("click", (event) => this.#click(event), { capture: true });
      this.#mark();
    }

    /** What is seen, in units of the picture. */
    get view() {
      return this.#view;
    }

    get #factor() {
      return this.#whole.width / this.#view.width;
    }

    /**
     * Move the picture so that a point is seen, if it is not.
     * @param {number} x
     * @param {number} y
     */
    reveal(x, y) {
      const { x: left, y: top, width, height } = this.#view;
      if (x >= left && x <= left + width && y >= top && y <= top + height) return;
      this.#see({ x: x - width / 2, y: y - height / 2, width, height });
    }

    /** Look more closely, or less, at a point in units, which stays where it is; without one, at what is in the middle. */
    #by(ratio, { x, y } = { x: this.#view.x + this.#view.width / 2, y: this.#view.y + this.#view.height / 2 }) {
      const factor = Math.min(MAX_FACTOR, Math.max(1, this.#factor * ratio));
      const shrink = this.#factor / factor;
      this.#see({
        x: x - (x - this.#view.x) * shrink,
        y: y - (y - this.#view.y) * shrink,
        width: this.#whole.width / factor,
        height: this.#whole.height / factor,
      });
    }

    #see({ x, y, width, height }) {
      const within = (at, most) => Math.min(Math.max(0, at), Math.max(0, most));
      this.#view = { x: within(x, this.#whole.width - width), y: within(y, this.#whole.height - height), width, height };
      const { x: left, y: top } = this.#view;
      put(this.#picture, "viewBox", [left, top, width, height].map((number) => Number(number.toFixed(2))).join(" "));
      this.#mark();
      this.#changed();
    }

    #mark() {
      const isWhole = this.#factor <= 1;
      put(this.#picture, "data-zoomed", !isWhole);
      for (const name of ["farther", "all"]) put(this.#buttons[name], "hidden", isWhole);
      put(this.#buttons.closer, "disabled", this.#factor >= MAX_FACTOR);
    }

    /** A point of the screen in units of the picture. */
    #units({ x, y }) {
      const { a, d, e, f } = this.#picture.getScreenCTM();
      return { x: (x - e) / a, y: (y - f) / d };
    }

    #down(event) {
      if (event.button > 0) return;
      const at = { x: event.clientX, y: event.clientY };
      if (this.#fingers.size === 0) {
        this.#moved = false;
        this.#from = at;
        window.addEventListener("pointermove", this.#move);
        for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, this.#up);
      }
      this.#fingers.set(event.pointerId, at);
      if (this.#fingers.size > 1) this.#moved = true;
    }

    #move = (event) => {
      const before = this.#fingers.get(event.pointerId);
      if (before === undefined) return;
      const at = { x: event.clientX, y: event.clientY };
      if (this.#fingers.size === 1) this.#drag(before, at);
      else this.#pinch(event.pointerId, before, at);
      this.#fingers.set(event.pointerId, at);
    };

    #up = ({ pointerId }) => {
      this.#fingers.delete(pointerId);
      if (this.#fingers.size > 0) return;
      window.removeEventListener("pointermove", this.#move);
      for (const kind of ["pointerup", "pointercancel"]) window.removeEventListener(kind, this.#up);
    };

    #drag(before, at) {
      if (this.#factor <= 1) return;
      if (Math.hypot(at.x - this.#from.x, at.y - this.#from.y) > DRAG_PX) this.#moved = true;
      if (!this.#moved) return;
      const [old, now] = [this.#units(before), this.#units(at)];
      this.#see({ ...this.#view, x: this.#view.x - (now.x - old.x), y: this.#view.y - (now.y - old.y) });
    }

    #pinch(pointer, before, at) {
      const [other] = [...this.#fingers].filter(([id]) => id !== pointer).map(([, place]) => place);
      const apart = (place) => Math.hypot(place.x - other.x, place.y - other.y) || 1;
      const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
      this.#by(apart(at) / apart(before), this.#units(middle));
    }

    /** A trackpad says a pinch so; a wheel alone scrolls the page. */
    #wheel(event) {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.#by(Math.exp(-event.deltaY * WHEEL_STEP), this.#units({ x: event.clientX, y: event.clientY }));
    }

    /** What ends a movement is no press. */
    #click(event) {
      if (!this.#moved) return;
      this.#moved = false;
      event.stopPropagation();
    }
  }

  return Zoom;
};
