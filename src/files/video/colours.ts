// Frames of 8-bit sRGB as videos store them: brightness of each pixel, and two colour differences of each block of 2 × 2 (4:2:0).

import type { Pixels } from '../image/pixels.ts';

/** Colours of a video by the codes of ITU-T H.273. */
export interface VideoColours {
  primaries: number;
  transfer: number;
  matrix: number;
  /** Whether brightness takes 0 to 255; otherwise 16 to 235. */
  isFull: boolean;
}

/**
 * The primaries and the curve of sRGB, the matrix of BT.601 in the limited range. Decoders that overlook what is stated take that matrix, and
 * those of Chromium without a GPU miss a saturated blue by 12 of 255 with the matrix of BT.709.
 */
export const COLOURS: VideoColours = { primaries: 1, transfer: 13, matrix: 6, isFull: false };

/** Shares of red and blue in brightness, by BT.601. */
const [RED, BLUE] = [0.299, 0.114];
const GREEN = 1 - RED - BLUE;
/** Products are whole numbers of 2⁻¹⁶; sums of four pixels have two more bits. */
const ONE = 2 ** 16;
const fixed = (factor: number): number => Math.round(factor * ONE);
const LIGHT = [RED, GREEN, BLUE].map((share) => fixed((share * 219) / 255)) as [number, number, number];
const blueOf = (share: number): number => fixed((share * 224) / 255 / (2 * (1 - BLUE)));
const redOf = (share: number): number => fixed((share * 224) / 255 / (2 * (1 - RED)));
const BLUENESS = [-RED, -GREEN, 1 - BLUE].map(blueOf) as [number, number, number];
const REDNESS = [1 - RED, -GREEN, -BLUE].map(redOf) as [number, number, number];

/** Even sides: a block of colour has two pixels in each direction. */
export const even = (side: number): number => side + (side % 2);

/** Bytes of a frame in planes. */
export const planeBytes = ({ width, height }: { width: number; height: number }): number =>
  (even(width) * even(height) * 3) / 2;

/** Writes a frame into `planes`: brightness, blue and red, one behind the other, of even sides. The last column and row of odd sides are repeated. */
export function toPlanes({ width, height, data }: Pixels, planes: Uint8Array): void {
  const [across, down] = [even(width), even(height)];
  const blue = across * down;
  const red = blue + blue / 4;
  const [lightRed, lightGreen, lightBlue] = LIGHT;
  for (let y = 0, block = 0; y < down; y += 2) {
    for (let x = 0; x < across; x += 2, block++) {
      let [r, g, b] = [0, 0, 0];
      for (let i = 0; i < 4; i++) {
        const [px, py] = [x + (i & 1), y + (i >> 1)];
        const at = 3 * (Math.min(py, height - 1) * width + Math.min(px, width - 1));
        const [pr, pg, pb] = [data[at]!, data[at + 1]!, data[at + 2]!];
        planes[py * across + px] =
          (lightRed * pr + lightGreen * pg + lightBlue * pb + 16 * ONE + ONE / 2) >> 16;
        r += pr;
        g += pg;
        b += pb;
      }
      planes[blue + block] = difference(BLUENESS, r, g, b);
      planes[red + block] = difference(REDNESS, r, g, b);
    }
  }
}

/** A colour difference from the sums of four pixels. */
const difference = (
  [ofRed, ofGreen, ofBlue]: readonly [number, number, number],
  r: number,
  g: number,
  b: number,
) => (ofRed * r + ofGreen * g + ofBlue * b + 4 * 128 * ONE + 2 * ONE) >> 18;
