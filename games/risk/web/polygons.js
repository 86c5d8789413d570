/** Polygons as lists of corners [x, y]: clipping, measuring, and SVG paths. */

/**
 * Clip a polygon by a line perpendicular to the direction from `own` to `other`, and keep the side of `own`
 * (Sutherland–Hodgman).
 * @param {[number, number][]} polygon
 * @param {[number, number]} own
 * @param {[number, number]} other
 * @param {number} maxDistance distance of the line from `own`
 */
export function clip(polygon, own, other, maxDistance) {
  const [dx, dy] = [other[0] - own[0], other[1] - own[1]];
  const distance = Math.hypot(dx, dy);
  if (distance < 1) return polygon;
  const along = ([x, y]) => ((x - own[0]) * dx + (y - own[1]) * dy) / distance - maxDistance;
  const kept = [];
  for (const [at, corner] of polygon.entries()) {
    const next = polygon[(at + 1) % polygon.length];
    const [here, there] = [along(corner), along(next)];
    if (here <= 0) kept.push(corner);
    if (here < 0 !== there < 0 && here !== there) {
      const share = here / (here - there);
      kept.push([corner[0] + share * (next[0] - corner[0]), corner[1] + share * (next[1] - corner[1])]);
    }
  }
  return kept;
}

/** Return the distance of two points. */
export function between([ax, ay], [bx, by]) {
  return Math.hypot(ax - bx, ay - by);
}

/** Return the area of a polygon, in square units. */
export function area(polygon) {
  const crosses = polygon.map(([ax, ay], at) => {
    const [bx, by] = polygon[(at + 1) % polygon.length];
    return ax * by - bx * ay;
  });
  return Math.abs(crosses.reduce((sum, cross) => sum + cross, 0)) / 2;
}

/** Return the centroid of a polygon. */
export function centroidOf(polygon) {
  let [area, x, y] = [0, 0, 0];
  for (const [at, [ax, ay]] of polygon.entries()) {
    const [bx, by] = polygon[(at + 1) % polygon.length];
    const cross = ax * by - bx * ay;
    [area, x, y] = [area + cross, x + (ax + bx) * cross, y + (ay + by) * cross];
  }
  return [x / (3 * area), y / (3 * area)];
}

/** Return the width of a polygon at a height. */
export function widthAt(polygon, y) {
  const crossed = polygon.flatMap(([ax, ay], at) => {
    const [bx, by] = polygon[(at + 1) % polygon.length];
    return ay < y !== by < y ? [ax + ((y - ay) / (by - ay)) * (bx - ax)] : [];
  });
  return crossed.length ? Math.max(...crossed) - Math.min(...crossed) : 0;
}

/** Return the SVG path of a polygon. */
export function pathOf(polygon) {
  return polygon.length ? `M${polygon.map(point).join("L")}Z` : "";
}

/** Format a point for an SVG path. */
export function point([x, y]) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
