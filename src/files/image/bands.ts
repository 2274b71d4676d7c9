// Converts the decoded values of an image to RGB piece by piece: a large image takes a second, in which other work of the thread runs.

import type { Pixels } from './pixels.ts';

/** Decoded values, row by row. */
export interface Raster {
  width: number;
  height: number;
  /** width · height · channels bytes. */
  data: Uint8Array;
}

/** Pixels that are converted before other work runs: a few milliseconds. */
export const BAND_PIXELS = 2 ** 18;

/** Applies a conversion in which each pixel depends on itself alone; it is called with pixels of one row. Throws the signal's reason. */
export async function convertInBands(
  { width, height, data }: Raster,
  convert: (band: Raster) => Uint8Array,
  signal?: AbortSignal,
): Promise<Pixels> {
  const count = width * height;
  const channels = channelsOf({ width, height, data });
  if (count <= BAND_PIXELS) return rgbPixels({ width, height, data: convert({ width, height, data }) });
  const made = new Uint8Array(3 * count);
  for (let from = 0; from < count; from += BAND_PIXELS) {
    if (from > 0) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    const to = Math.min(from + BAND_PIXELS, count);
    const band = { width: to - from, height: 1, data: data.subarray(channels * from, channels * to) };
    made.set(rgbPixels({ ...band, data: convert(band) }).data, 3 * from);
  }
  return { width, height, data: made };
}

/** Asserts that there are whole pixels. */
export function channelsOf({ width, height, data }: Raster): number {
  const channels = data.length / (width * height);
  if (Number.isInteger(channels) && channels > 0) return channels;
  throw new Error(`${data.length} bytes are not whole pixels of an image of ${width} × ${height}`);
}

/** Asserts that there are three bytes for each pixel. */
export function rgbPixels({ width, height, data }: Raster): Pixels {
  if (data.length === 3 * width * height) return { width, height, data };
  throw new Error(`${data.length} bytes are not the RGB of an image of ${width} × ${height}`);
}

/** The values of some channels of each pixel, in this order; the data itself where these are all. */
export function pickChannels(raster: Raster, picked: readonly number[]): Uint8Array {
  const { width, height, data } = raster;
  const channels = channelsOf(raster);
  if (picked.length === channels && picked.every((channel, at) => channel === at)) return data;
  const made = new Uint8Array(width * height * picked.length);
  for (const [at, channel] of picked.entries())
    for (let from = channel, to = at; from < data.length; from += channels, to += picked.length)
      made[to] = data[from]!;
  return made;
}
