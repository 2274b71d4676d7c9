// Clips for tests of videos: cards of colours, which move on by one in each frame.

import type { Frames } from '../../../src/files/image/pixels.ts';

/** Four columns of three rows. */
export const CARD: readonly (readonly [number, number, number])[] = [
  ...([
    [0, 0, 0],
    [255, 255, 255],
    [255, 0, 0],
    [0, 255, 0],
  ] as const),
  ...([
    [0, 0, 255],
    [255, 255, 0],
    [30, 60, 90],
    [200, 120, 60],
  ] as const),
  ...([
    [128, 128, 128],
    [16, 16, 16],
    [90, 200, 160],
    [250, 240, 230],
  ] as const),
];

/** The colour of field `at` of the card in a frame. */
export const colourAt = (at: number, frame: number): readonly [number, number, number] =>
  CARD[(at + frame) % 12]!;

export function card(width: number, height: number, frames: number): Frames {
  const data = new Uint8Array(3 * width * height * frames);
  for (let at = 0; at < width * height * frames; at++) {
    const [frame, x] = [Math.floor(at / (width * height)), at % width];
    const y = Math.floor(at / width) % height;
    data.set(colourAt(Math.floor((4 * x) / width) + 4 * Math.floor((3 * y) / height), frame), 3 * at);
  }
  return { width, height, frames, data };
}
