// Sizes in training by proportions, with values of diffusers' classify_height_width_bin.

import { expect, it } from 'vitest';
import { nearestBin } from '../../../../src/engine/image/blocks/resolution-bins.ts';

it.each([
  [1024, [1024, 1024], [1024, 1024]],
  [1024, [64, 96], [832, 1216]],
  [1024, [720, 1280], [768, 1344]],
  [512, [3000, 100], [1024, 256]],
  [512, [480, 512], [480, 512]],
  [256, [480, 512], [240, 256]],
  [2048, [1000, 275], [3712, 1024]],
  [4096, [100, 387], [2048, 7936]],
])('sizes for side %i: %j is drawn in %j', (side, [height, width], [tall, wide]) => {
  expect(nearestBin({ height: height!, width: width! }, side)).toEqual({ height: tall, width: wide });
});

it('models of other sizes have no list of sizes', () => {
  expect(nearestBin({ height: 64, width: 64 }, 384)).toBeNull();
});
