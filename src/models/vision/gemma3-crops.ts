// Pan and scan, by which Gemma 3's processor shows parts of long images: crops side by side along the longer side.

import type { Pixels } from '../../files/image/pixels.ts';
import type { ScanRule } from './gemma3-config.ts';

/** The crops of an image, in order; none unless its sides differ enough and the crops are large enough. */
export function panAndScan(image: Pixels, { least, most, ratio }: ScanRule): Pixels[] {
  const { width, height } = image;
  const isWide = width >= height;
  const [long, short] = isWide ? [width, height] : [height, width];
  if (long / short < ratio) return [];
  const count = Math.min(
    most,
    Math.max(2, Math.min(Math.floor(long / short + 0.5), Math.floor(long / least))),
  );
  const size = Math.ceil(long / count);
  if (Math.min(size, short) < least) return [];
  const ranges = Array.from({ length: count }, (_, i) => [size * i, Math.min(long, size * (i + 1))] as const);
  return ranges.flatMap(([from, to]) => {
    if (from >= to) return [];
    return [isWide ? columnsOf(image, from, to) : rowsOf(image, from, to)];
  });
}

function rowsOf({ width, data }: Pixels, from: number, to: number): Pixels {
  return { width, height: to - from, data: data.subarray(3 * width * from, 3 * width * to) };
}

function columnsOf({ width, height, data }: Pixels, from: number, to: number): Pixels {
  const line = 3 * (to - from);
  const made = new Uint8Array(line * height);
  for (let y = 0; y < height; y++) {
    const first = 3 * (y * width + from);
    made.set(data.subarray(first, first + line), y * line);
  }
  return { width: to - from, height, data: made };
}
