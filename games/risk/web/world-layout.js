/** The layout of maps of the world or of a part of it: the coasts of world-map.js, divided between their territories. */

import { area, between, clip, pathOf, point } from "./polygons.js";
import { ISLANDS, LAKES, LANDS } from "./world-map.js";

const WIDTH = 1000; // maximum
const HEIGHT = 680;
const MARGIN = 16;
const STRAIT = 16; // units between cells without a border
const COAST = 4; // units between bordering cells of different continents
const MIN_SHARED_EDGE = 3; // minimum length in units of a common edge of neighbours
const MAX_TOUCHING_GAP = 9; // maximum units between two lands that touch
const LABEL_HEIGHT = 36; // height of a name and its army
const MAX_NAME_WIDTH = 160; // maximum width of a name
const WRAP_DISTANCE = 900; // length in units from which a border goes around the world

/**
 * Lay out a map of this world; return null for any other map, or if lands touch that have no border.
 * @param {{territories: {name: string, continent: number}[], borders: [number, number][]}} map
 * @returns {import("./geometry.js").Layout | null}
 */
export function layOutWorld({ territories, borders }) {
  const lands = LANDS.map(({ coast, places }) => ({ coast: corners(coast), places }));
  const landOf = territories.map(({ name }) => lands.find(({ places }) => Object.hasOwn(places, name)));
  if (landOf.includes(undefined) || new Set(territories.map(({ name }) => name)).size < territories.length) return null;
  const joined = new Set(borders.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`]));
  const sites = territories.map(({ name }, at) => landOf[at].places[name]);
  const at = new Map(territories.map(({ name }, index) => [name, index]));
  const gap = (a, b) => (!joined.has(`${a} ${b}`) ? STRAIT : territories[a].continent === territories[b].continent ? 0 : COAST);
  const cellOf = (own) =>
    Object.entries(landOf[own].places).reduce((polygon, [name, site]) => {
      const other = at.get(name);
      if (other === own) return polygon;
      const distance = between(sites[own], site);
      const border = distance / 2 + ((sites[own][2] ?? 0) - (site[2] ?? 0)) / (2 * distance);
      return clip(polygon, sites[own], site, border - (other === undefined ? COAST : gap(own, other)) / 2);
    }, landOf[own].coast);
  const cells = sites.map((_, at) => cellOf(at));
  const touching = (a, b) => (landOf[a] === landOf[b] ? shared(cells[a], cells[b]) >= MIN_SHARED_EDGE : near(cells[a], cells[b]));
  for (const a of cells.keys()) for (let b = 0; b < a; b++) if (!joined.has(`${a} ${b}`) && touching(a, b)) return null;
  return fitted(territories, borders, { lands, sites, cells, isLink: (a, b) => !touching(a, b) });
}

/** Scale the cells to the largest possible picture. */
function fitted(territories, borders, { lands, sites, cells, isLink }) {
  const shapes = territories.map(({ name }, at) => [cells[at], ...(ISLANDS[name] ?? []).map(corners)]);
  const all = shapes.flat(2);
  const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [across, down] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const scale = Math.min((WIDTH - 2 * MARGIN) / across, (HEIGHT - 2 * MARGIN) / down);
  const moved = ([x, y]) => [MARGIN + (x - left) * scale, MARGIN + (y - top) * scale];
  const width = across * scale + 2 * MARGIN;
  const places = sites.map(moved);
  const drawn = shapes.map((polygons) => polygons.map((polygon) => polygon.map(moved)));
  const lakes = LAKES.map(corners).filter((lake) => lake.every(([x, y]) => x > left && x < left + across && y > top && y < top + down));
  return {
    width,
    height: down * scale + 2 * MARGIN,
    places,
    cells: drawn.map((polygons) => polygons.map(pathOf).join("")),
    links: borders.filter(([a, b]) => isLink(a, b)).map(([a, b]) => linkPath(drawn[a].flat(), drawn[b].flat(), { width, far: WRAP_DISTANCE * scale })),
    elsewhere: lands.map(({ coast }) => pathOf(coast.map(moved))),
    lakes: lakes.map((lake) => pathOf(lake.map(moved))),
    ground: drawn.flat().reduce((sum, polygon) => sum + area(polygon), 0),
    room: (at) => roomAt(at, places),
    named: true,
  };
}

/** Return the width available for a name, next to the names at the same height. */
function roomAt(at, places) {
  const [x, y] = places[at];
  const beside = places.filter(([otherX, otherY], other) => other !== at && Math.abs(otherY - y) < LABEL_HEIGHT && Math.abs(otherX - x) > 1);
  return Math.min(MAX_NAME_WIDTH, ...beside.map(([otherX]) => Math.abs(otherX - x)));
}

/** Return the line over the sea between two coasts; it leaves the map at the edges if that is shorter. */
function linkPath(one, other, { width, far }) {
  const [west, east] = leftmost(one) < leftmost(other) ? [one, other] : [other, one];
  if (rightmost(east) - leftmost(west) > far) {
    const [from, to] = [west.find(([x]) => x === leftmost(west)), east.find(([x]) => x === rightmost(east))];
    return `M${point(from)}L${point([0, from[1]])}M${point(to)}L${point([width, to[1]])}`;
  }
  let [least, path] = [Infinity, ""];
  for (const corner of one) {
    for (const place of other) {
      const distance = between(corner, place);
      if (distance < least) [least, path] = [distance, `M${point(corner)}L${point(place)}`];
    }
  }
  return path;
}

function leftmost(polygon) {
  return Math.min(...polygon.map(([x]) => x));
}

function rightmost(polygon) {
  return Math.max(...polygon.map(([x]) => x));
}

function corners(text) {
  return text.trim().split(/\s+/).map((corner) => corner.split(",").map(Number));
}

/** Return the length of the common edge of two cells, allowing for the widest gap between continents. */
function shared(one, other) {
  let most = 0;
  for (const [a, b] of edges(one)) {
    for (const [c, d] of edges(other)) {
      const length = between(a, b);
      if (length < 1) continue;
      const [ux, uy] = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
      const along = ([x, y]) => (x - a[0]) * ux + (y - a[1]) * uy;
      const aside = ([x, y]) => Math.abs((x - a[0]) * uy - (y - a[1]) * ux);
      if (aside(c) > COAST + 0.5 || aside(d) > COAST + 0.5) continue;
      most = Math.max(most, Math.min(length, Math.max(along(c), along(d))) - Math.max(0, Math.min(along(c), along(d))));
    }
  }
  return most;
}

function edges(polygon) {
  return polygon.map((corner, at) => [corner, polygon[(at + 1) % polygon.length]]);
}

function near(one, other) {
  return one.some((a) => other.some((b) => between(a, b) < MAX_TOUCHING_GAP));
}
