// The longest, or else the largest clip that fits.

import { expect, it } from 'vitest';
import { smallerClip } from '../../../src/engine/image/smaller-clip.ts';
import { textOf } from '../../../src/files/message.ts';

/** Pixels of all latents that fit. */
const told = async (
  most: number,
  width = 832,
  height = 480,
  frames = 81,
): Promise<[string | null, number]> => {
  let trials = 0;
  const change = await smallerClip(
    { width, height, frames },
    { framesPerLatent: 4, sizeMultiple: 16 },
    async (clip) => {
      trials += 1;
      const { width: w, height: h, frames: n } = { width, height, frames, ...clip };
      return w * h * (1 + (n - 1) / 4) <= most;
    },
  );
  return [change && textOf(change, {}), trials];
};

it.each([
  [20, 'lower `frames` to 77'],
  [8.5, 'lower `frames` to 29'],
  [2, 'lower `frames` to 5'],
  [1.9, 'lower `width` and `height` to 224 × 128'],
  [0.01, null],
])('a clip of 21 latents of 832 × 480, of which %d fit, is told: %s', async (latents, change) => {
  const [text, trials] = await told(latents * 832 * 480);
  expect(text).toBe(change);
  expect(trials).toBeLessThanOrEqual(change === null ? 2 : 7);
});

it('a clip of two latents is told to be smaller', async () => {
  const [text] = await told(832 * 480, 832, 480, 5);
  expect(text).toMatch(/^lower `width` and `height` to 5\d\d × 3\d\d$/);
});
