// Rows of sines and cosines that stand for places in a text or a sound.

/**
 * [places, columns]: sines of a place at each frequency, then cosines. Frequencies fall from 1 by equal factors; the one at `last`, by default the
 * last of all, is 1/10,000.
 */
export function sineRows(
  places: readonly number[],
  columns: number,
  last = Math.max(Math.ceil(columns / 2) - 1, 1),
): Float32Array<ArrayBuffer> {
  const half = Math.ceil(columns / 2);
  const frequencies = Array.from({ length: half }, (_, i) => 10_000 ** (-i / last));
  return Float32Array.from({ length: places.length * columns }, (_, i) => {
    const column = i % columns;
    const angle = places[Math.floor(i / columns)]! * frequencies[column % half]!;
    return column < half ? Math.sin(angle) : Math.cos(angle);
  });
}

/** The places from 0 up to `count`. */
export const placesUpTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
