/** Where a map of the world, or of a part of it, is drawn: the coasts of world-map.js, parted between their territories. */

import { area, between, clip, pathOf, point } from "./polygons.js";
import { ISLANDS, LAKES, LANDS } from "./world-map.js";

const WIDTH = 1000; // at most
const HEIGHT = 680;
const MARGIN = 16;
const STRAIT = 16; // between cells that have no border
const COAST = 4; // between those of different continents that have one
const SHARED = 3; // units that two cells have to share to be neighbours
const NEAR = 9; // units between two lands that touch
const LABEL = 36; // of a name and its army, from top to bottom
const WIDEST = 160; // of a name
const FAR = 900; // units of the drawing, from which on a border goes round the world

/**
 * Lay out a map whose territories are of this world; null of another, or where lands touch that have no border in it.
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
  const touching = (a, b) => (landOf[a] === landOf[b] ? shared(cells[a], cells[b]) >= SHARED : near(cells[a], cells[b]));
  for (const a of cells.keys()) for (let b = 0; b < a; b++) if (!joined.has(`${a} ${b}`) && touching(a, b)) return null;
  return fitted(territories, borders, { lands, sites, cells, isLink: (a, b) => !touching(a, b) });
}

/** The picture of the cells, as large as may be. */
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
    links: borders.filter(([a, b]) => isLink(a, b)).map(([a, b]) => linkPath(drawn[a].flat(), drawn[b].flat(), { width, far: FAR * scale })),
    elsewhere: lands.map(({ coast }) => pathOf(coast.map(moved))),
    lakes: lakes.map((lake) => pathOf(lake.map(moved))),
    ground: drawn.flat().reduce((sum, polygon) => sum + area(polygon), 0),
    room: (at) => roomAt(at, places),
    named: true,
  };
}

/** How wide a name may be: up to the names of those that are as high on the map. */
function roomAt(at, places) {
  const [x, y] = places[at];
  const beside = places.filter(([otherX, otherY], other) => other !== at && Math.abs(otherY - y) < LABEL && Math.abs(otherX - x) > 1);
  return Math.min(WIDEST, ...beside.map(([otherX]) => Math.abs(otherX - x)));
}

/** A line over the sea, from coast to coast; over the edge of the map, where the way round is shorter. */
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

/** How long the border of two cells is that were parted by one line, up to the widest gap that is left between continents. */
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
  return one.some((a) => other.some((b) => between(a, b) < NEAR));
}
