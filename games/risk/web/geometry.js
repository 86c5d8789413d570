/** The layout of Risk maps: the world with its coasts; other maps as cells that touch where there is a border. */

import { clip, centroidOf, pathOf, point, widthAt } from "./polygons.js";
import { layOutWorld } from "./world-layout.js";

const WIDTH = 1000;
const NAMED_MAP_ASPECT = 0.7; // height divided by width, of maps with names; those without names are square
const MARGIN = 0.05;
const STRAIT_WIDTH = 16; // units between cells without a border
const COAST_WIDTH = 5; // units between bordering cells of different continents
const MIN_SHARED_EDGE = 14; // minimum length in units of a visible common edge
const CORNERS = 28;
const LLOYD_STEPS = 4; // steps of Lloyd's algorithm, each halfway: crowded territories get room
const MAX_UNRELAXED_TERRITORIES = 7; // maximum territories of a map that keeps its given places
const MAX_FLAT_TERRITORIES = 12; // maximum territories of a map without borders around the world
const WRAP_DISTANCE = 0.8;

/**
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {[number, number][]} places the middle of each territory
 * @property {string[]} cells the path of each territory
 * @property {boolean} named whether names need room
 * @property {(at: number, dy: number) => number} room returns the width of a territory, `dy` units below its middle
 * @property {string[]} links paths of borders between cells that do not touch
 * @property {string[]} elsewhere paths of land that is not on the map
 * @property {number} ground the area of all territories, in square units
 * @property {string[]} lakes paths of water inside the land
 */

/**
 * Compute the layout of a map.
 * @param {{territories: {name: string, continent: number, x: number, y: number}[], borders: [number, number][]}} map
 * @returns {Layout}
 */
export function layOut(map) {
  return layOutWorld(map) ?? layOutCells(map);
}

/** Lay out territories as cells of a Voronoi diagram. */
function layOutCells(map) {
  const named = Math.max(...map.territories.map(({ name }) => name.length)) > 4;
  const height = named ? WIDTH * NAMED_MAP_ASPECT : WIDTH;
  const inset = Math.max(WIDTH * MARGIN, (0.42 * WIDTH) / Math.sqrt(map.territories.length) - 8);
  const joined = new Set(map.borders.map(([a, b]) => key(a, b)));
  let sites = map.territories.map(({ x, y }) => [inset + (x / 100) * (WIDTH - 2 * inset), inset + (y / 100) * (height - 2 * inset)]);
  const land = () => sites.map((_, at) => cellOf(at, sites, joined, map, height));
  for (let step = 0; step < (sites.length > MAX_UNRELAXED_TERRITORIES ? LLOYD_STEPS : 0); step++) sites = land().map((polygon, at) => between(sites[at], centroidOf(polygon), 0.5));
  const polygons = land();
  const places = polygons.map(centroidOf);
  const around = (a, b) => places.length > MAX_FLAT_TERRITORIES && Math.abs(map.territories[a].x - map.territories[b].x) > WRAP_DISTANCE * 100;
  const links = map.borders
    .filter(([a, b]) => !touch(polygons[a], polygons[b], sites[a], sites[b]))
    .map(([a, b]) => (around(a, b) ? roundPath(places[a], places[b]) : `M${point(places[a])}L${point(places[b])}`));
  const room = (at, dy) => widthAt(polygons[at], places[at][1] + dy);
  return { width: WIDTH, height, places, cells: polygons.map(pathOf), links, lakes: [], elsewhere: [], ground: WIDTH * height, room, named };
}

function key(a, b) {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

/** Return the polygon of a territory: a disc, cut where other territories are nearer. */
function cellOf(at, places, joined, map, height) {
  const own = places[at];
  const reach = reachOf(at, places, map, height);
  let polygon = Array.from({ length: CORNERS }, (_, corner) => {
    const angle = (2 * Math.PI * corner) / CORNERS;
    return [inside(own[0] + reach * Math.cos(angle), WIDTH), inside(own[1] + reach * Math.sin(angle), height)];
  });
  for (const [other, place] of places.entries()) {
    if (other === at) continue;
    const gap = !joined.has(key(at, other)) ? STRAIT_WIDTH : map.territories[at].continent === map.territories[other].continent ? 0 : COAST_WIDTH;
    polygon = clip(polygon, own, place, Math.hypot(place[0] - own[0], place[1] - own[1]) / 2 - gap / 2);
  }
  return polygon;
}

function reachOf(at, places, map, height) {
  const usual = Math.sqrt((WIDTH * height) / places.length);
  const near = map.borders
    .filter((border) => border.includes(at))
    .map(([a, b]) => (a === at ? b : a))
    .filter((other) => map.territories[other].continent === map.territories[at].continent)
    .map((other) => Math.hypot(places[at][0] - places[other][0], places[at][1] - places[other][1]));
  return Math.min(0.85 * usual, Math.max(0.55 * usual, ...near.map((distance) => 0.62 * distance)));
}

function inside(value, most) {
  return Math.min(most - 6, Math.max(6, value));
}

function between([x, y], [toX, toY], share) {
  return [x + share * (toX - x), y + share * (toY - y)];
}

/** Return whether two cells share an edge that is long enough to be seen. */
function touch(one, other, place, otherPlace) {
  const [dx, dy] = [otherPlace[0] - place[0], otherPlace[1] - place[1]];
  const distance = Math.hypot(dx, dy) || 1;
  const reach = (polygon) => {
    const along = polygon
      .filter(([x, y]) => Math.abs(((x - place[0]) * dx + (y - place[1]) * dy) / distance - distance / 2) < COAST_WIDTH)
      .map(([x, y]) => ((y - place[1]) * dx - (x - place[0]) * dy) / distance);
    return [Math.min(...along), Math.max(...along)];
  };
  const [[from, to], [otherFrom, otherTo]] = [reach(one), reach(other)];
  return Math.min(to, otherTo) - Math.max(from, otherFrom) >= MIN_SHARED_EDGE;
}

/** Return the path of a border around the world, which leaves at one edge and returns at the other. */
function roundPath(a, b) {
  const [left, right] = a[0] < b[0] ? [a, b] : [b, a];
  return `M${point(left)}L0 ${left[1].toFixed(1)}M${point(right)}L${WIDTH} ${right[1].toFixed(1)}`;
}
