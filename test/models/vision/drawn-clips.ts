// Frames of videos by a formula in whole numbers, which scripts/reference/drawn_clips.py has, too, so that no goldens hold them.

import type { Pixels } from '../../../src/files/image/pixels.ts';

/** Waves and noise. */
export function frameOf(t: number, { width, height }: { width: number; height: number }): Pixels {
  const data = new Uint8Array(3 * width * height);
  let at = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let channel = 0; channel < 3; channel++) {
        const wave = Math.abs(((x * 5 * (channel + 1) + y * 3 + t * 17) % 510) - 255);
        const sum =
          Math.imul(x, 374761393) + Math.imul(y, 668265263) + t * 974711 + Math.imul(channel, 1274126177);
        const noise = Math.imul((sum >>> 0) ^ (sum >>> 13), 1103515245) >>> 0;
        data[at++] = ((wave * 7) >> 3) + ((noise >>> 16) & 31);
      }
  return { width, height, data };
}
