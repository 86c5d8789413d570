/** The picture of a Risk map: land in the colours of its owners, armies, and the last attack. */

import { layOut } from "./geometry.js";
import { animate } from "./motion.js";
import makePieces, { MAX_PICTURED_TROOPS } from "./pieces.js";
import makeZoom from "./zoom.js";

export default (kit) => {
  const { Roving, el, put, say, shapeOf, svg } = kit;
  const { pieceRows } = makePieces(kit);
  const Zoom = makeZoom(kit);
  const MIN_FULL_NAME_PX = 96; // minimum pixels across a territory for full names and pieces
  const MIN_SHORT_NAME_PX = 58; // minimum for short names
  const NARROW_WIDTH_PX = 600; // pixels across the picture below which armies are drawn smaller
  const LINE_HEIGHT_PX = 13; // height of a line of a name, in pixels
  const LETTER_WIDTH_PX = 6.4; // width of a letter, in pixels
  const TONES = 6;
  const PRESS_RADIUS = 22; // radius in units around an army where a press selects its territory, however small that is

  class RiskMap {
    /**
     * @param {object} map as in the config of a match
     * @param {boolean} hasBonuses whether holding a whole continent gives units
     * @param {(territory: number, event: Event) => void} press
     */
    constructor(map, hasBonuses, press) {
      this.layout = layOut(map);
      const { width, height, links, lakes, elsewhere } = this.layout;
      this.territories = map.territories.map((territory, at) => makeTerritory(territory, at, this.layout));
      this.arrow = svg("path", { class: "arrow" });
      this.struck = svg("path", { class: "head" });
      this.tag = svg("text", { class: "tag", "aria-hidden": "true" });
      this.marchers = svg("g", { class: "marchers" }, svg("path", { d: "" }), svg("text", { class: "count", y: 5 }));
      const tone = (at) => `tone-${map.territories[at].continent % TONES}`;
      const shores = this.layout.cells.map((d, at) => svg("path", { class: `shore ${tone(at)}`, d }));
      this.picture = svg(
        "svg",
        { class: "map", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `map ${map.name}` },
        svg("g", { class: "elsewhere" }, ...elsewhere.map((d) => svg("path", { d }))),
        svg("g", { class: "shores" }, ...shores),
        svg("g", { class: "lands" }, ...this.territories.map(({ land }) => land)),
        svg("g", { class: "rims", "aria-hidden": "true" }, ...this.territories.map(({ rim }) => rim)),
        svg("g", { class: "lakes" }, ...lakes.map((d) => svg("path", { d }))),
        svg("g", { class: "links" }, ...links.map((d) => svg("path", { d }))),
        svg("g", { class: "attack" }, this.arrow, this.struck),
        svg("g", { class: "armies" }, ...this.territories.map(({ army }) => army)),
        svg("g", { class: "armies" }, svg("g", { class: "marching" }, this.marchers)),
        this.tag,
      );
      this.zoom = new Zoom(this.picture, this.layout, () => this.box && this.#scale(this.box));
      this.element = el("div", { class: "map-frame" }, this.picture, this.zoom.element, legend(map, hasBonuses));
      this.roving = new Roving(this.picture, (part, event) => press(Number(part.dataset.territory), event));
      for (const kind of ["click", "focusin", "pointerover"]) this.picture.addEventListener(kind, (event) => this.#name(event.target.closest("[data-territory]")));
      this.picture.addEventListener("focusin", ({ target }) => this.#reveal(target.closest("[data-territory]")));
      this.isShrunk = false; // whether the map was large enough for full names until the legend took room
      this.minSpacious = MIN_FULL_NAME_PX;
      new ResizeObserver(([{ contentRect }]) => this.#scale((this.box = contentRect))).observe(this.picture);
    }

    /**
     * Draw owners and armies.
     * @param {number[]} owner
     * @param {number[]} troops
     * @param {Record<number, string>} marks CSS classes of territories: picked, target, changed
     * @param {Record<number, number>} added units that the current draft adds
     */
    show(owner, troops, marks, added = {}) {
      for (const [at, territory] of this.territories.entries()) drawTerritory(territory, owner[at], troops[at], marks[at] ?? "", added[at] ?? 0);
    }

    /**
     * Draw an attack, or remove it.
     * @param {{from: number, to: number, seat: number, taken: boolean} | null} attack
     */
    attack(attack) {
      const path = attack ? arrowPath(this.layout.places[attack.from], this.layout.places[attack.to], this.scale ?? 1, this.element.dataset.room !== "tight") : { line: "", head: "" };
      this.drawn = attack;
      for (const [part, d, kind] of [[this.arrow, path.line, "arrow"], [this.struck, path.head, "head"]]) {
        put(part, "d", d);
        put(part, "class", attack ? `${kind} seat-${attack.seat} ${attack.taken ? "taken" : "held"}` : kind);
      }
    }

    /**
     * Animate the army of a successful attack.
     * @param {{from: number, to: number, seat: number, taken: boolean} | null} attack
     * @param {number} troops the number that arrived
     */
    march(attack, troops) {
      const [shape, count] = this.marchers.children;
      const marches = attack?.taken;
      put(this.marchers.parentNode, "class", marches ? `marching seat-${attack.seat}` : "marching");
      put(shape, "d", marches ? shapeOf(attack.seat) : "");
      say(count, marches ? troops : "");
      if (!marches) return;
      const at = (territory) => this.layout.places[territory].slice(0, 2).map((units) => `${units}px`).join(" ");
      animate(this.marchers.parentNode, [{ translate: at(attack.from), opacity: 1 }, { translate: at(attack.to), opacity: 1 }]);
    }

    /** Who goes on with the keyboard sees where. */
    #reveal(land) {
      if (land) this.zoom.reveal(...this.layout.places[Number(land.dataset.territory)].slice(0, 2));
    }

    /** Say what a territory that is pointed at is called, where names have no room. */
    #name(land) {
      const at = land ? Number(land.dataset.territory) : null;
      say(this.tag, at === null ? "" : this.territories[at].name);
      if (at === null) return;
      const [x, y] = this.layout.places[at];
      const { x: left, y: top, width, height } = this.zoom.view;
      const size = this.scale ?? 1;
      put(this.tag, "x", x.toFixed(1));
      put(this.tag, "y", (y - top < 0.2 * height ? y + 34 * size : y - 20 * size).toFixed(1));
      put(this.tag, "text-anchor", x - left < 0.25 * width ? "start" : x - left > 0.75 * width ? "end" : "middle");
    }

    /**
     * Let territories be pressed; without names, none can be.
     * @param {string[]} names the accessible name of each territory
     */
    offer(names) {
      this.roving.offer(names.map((name, at) => [this.territories[at].land, name]));
    }

    /**
     * Return how much fits on territories of this many pixels across. With full names the board shows a legend, which takes
     * room from the map. If that makes the map too small for full names, they stay away until the map is larger.
     */
    #roomFor(across) {
      const wasSpacious = this.element.dataset.room === "spacious";
      if (across < MIN_FULL_NAME_PX) {
        this.isShrunk = wasSpacious;
        this.minSpacious = MIN_FULL_NAME_PX;
      } else if (this.isShrunk) {
        this.isShrunk = false;
        this.minSpacious = across + 1;
      }
      const isSpacious = across >= (wasSpacious ? MIN_FULL_NAME_PX : this.minSpacious);
      return isSpacious ? "spacious" : across >= MIN_SHORT_NAME_PX ? "roomy" : "tight";
    }

    /** Draw texts and armies at a constant size on the screen, whatever the size of the picture. */
    #scale(box) {
      const { named, ground } = this.layout;
      const { width, height } = this.zoom.view;
      const pixels = Math.min(box.width, (box.height * width) / height);
      if (!pixels) return;
      const across = (pixels / width) * Math.sqrt(ground / this.territories.length);
      const size = Math.min(1.5, Math.max(pixels < NARROW_WIDTH_PX ? 0.62 : 0.85, across / (named ? 105 : 80)));
      this.scale = (width / pixels) * size;
      this.picture.style.setProperty("--scale", this.scale.toFixed(3));
      put(this.element, "data-room", this.#roomFor(across));
      for (const [at, { name, label }] of this.territories.entries()) {
        const letters = Math.max(4, Math.floor(this.layout.room(at, 27 * this.scale) / this.scale / LETTER_WIDTH_PX));
        label.replaceChildren(...folded(name, letters).map((line, row) => svg("tspan", { x: 0, y: 27 + LINE_HEIGHT_PX * row }, line)));
      }
      this.attack(this.drawn ?? null);
    }
  }

  function makeTerritory({ name, continent }, at, { cells, places }) {
    const [x, y] = places[at];
    const title = svg("title");
    const land = svg("g", { "data-territory": at }, title, svg("path", { class: "ground", d: cells[at] }), svg("circle", { class: "reach", cx: x.toFixed(1), cy: y.toFixed(1), r: PRESS_RADIUS }));
    const rim = svg("path", { class: "rim", d: cells[at] });
    const shape = svg("path", { class: "shape" });
    const count = svg("text", { class: "count", y: 5 });
    const plus = svg("text", { class: "plus", x: 15, y: -9 });
    const label = svg("text", { class: "name" });
    const pieces = svg("g", { class: "pieces", transform: "translate(0 -22)" });
    const army = svg("g", { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, svg("g", { class: "army" }, shape, count, pieces, label, plus));
    return { name, at, land, title, rim, army, shape, count, plus, label, pieces, tone: `tone-${continent % TONES}`, shown: "" };
  }

  function drawTerritory(territory, owner, troops, mark, added) {
    const shown = `${owner} ${troops} ${mark} ${added}`;
    if (territory.shown === shown) return;
    const isNew = territory.troops !== undefined && territory.troops !== troops;
    Object.assign(territory, { shown, troops });
    const seat = owner < 0 ? "seat-none" : `seat-${owner}`;
    put(territory.land, "class", `land ${territory.tone} ${seat} ${mark}`.trim());
    put(territory.rim, "class", `rim ${mark}`.trim());
    put(territory.army, "class", `${seat} ${mark}`.trim());
    put(territory.shape, "d", owner < 0 ? "M0-5a5 5 0 1 1-.1 0z" : shapeOf(owner));
    say(territory.count, owner < 0 ? "" : troops);
    say(territory.plus, added ? `+${added}` : "");
    say(territory.title, `${territory.name}: ${owner < 0 ? "nobody's" : `seat ${owner + 1}, ${troops}`}`);
    if (isNew) animate(territory.army.firstChild, [{ scale: 1.5 }, { scale: 1 }]);
    territory.pieces.replaceChildren(...(owner >= 0 && troops <= MAX_PICTURED_TROOPS ? pieceRows(troops) : []));
  }

  /** Return a slightly bent line and its head. Both end short of the armies, of the names below and the pieces above them. */
  function arrowPath([x, y], [toX, toY], scale, isLabelled) {
    const [dx, dy] = [toX - x, toY - y];
    const distance = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / distance, dy / distance];
    const isSteep = Math.abs(dy) > Math.abs(dx);
    const short = Math.min((isLabelled && isSteep ? 38 : 19) * scale, distance * 0.3);
    const bend = Math.min(0.14 * distance, 30 * scale);
    const [startX, startY] = [x + ux * short, y + uy * short];
    const [endX, endY] = [toX - ux * short, toY - uy * short];
    const [midX, midY] = [(x + toX) / 2 - uy * bend, (y + toY) / 2 + ux * bend];
    const [hx, hy] = [endX - midX, endY - midY];
    const length = Math.hypot(hx, hy) || 1;
    const [vx, vy] = [hx / length, hy / length];
    const long = Math.min(15 * scale, distance * 0.35);
    const [baseX, baseY] = [endX - vx * long, endY - vy * long];
    const wing = long * 0.6;
    return {
      line: `M${pair(startX, startY)}Q${pair(midX, midY)} ${pair(baseX, baseY)}`,
      head: `M${pair(endX, endY)}L${pair(baseX - vy * wing, baseY + vx * wing)}L${pair(baseX + vy * wing, baseY - vx * wing)}Z`,
    };
  }

  function pair(x, y) {
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  }

  /** Split a name into at most two lines of `letters` characters, abbreviating what does not fit. */
  function folded(name, letters) {
    const lines = [""];
    for (const word of name.split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (longer.length <= letters || !lines.at(-1)) lines[lines.length - 1] = longer;
      else if (lines.length < 2) lines.push(word);
      else lines[1] = longer;
    }
    return lines.map((line) => (line.length <= letters ? line : `${line.slice(0, letters - 1).trimEnd()}.`));
  }

  /** Return the list of continents, with their bonuses if there are any. */
  function legend({ continents }, hasBonuses) {
    if (continents.length < 2 && !hasBonuses) return null;
    const items = continents.map(({ name, bonus }, at) => el("li", { class: `tone-${at % TONES}` }, hasBonuses ? `${name} +${bonus}` : name));
    const head = hasBonuses ? [el("li", { class: "faint" }, "Units per turn:")] : [];
    return el("ul", { class: "continents", "aria-label": "continents" }, ...head, ...items);
  }

  return RiskMap;
};
