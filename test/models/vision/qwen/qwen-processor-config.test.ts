// What a processor's file says is done to an image, in the forms in which it is published.

import { expect, it } from 'vitest';
import { readConfig } from '../../../../src/models/config-values.ts';
import { readQwenProcessorConfig } from '../../../../src/models/vision/qwen/qwen-processor-config.ts';

const FILLED = {
  minPixels: 3136,
  maxPixels: 1003520,
  patch: 14,
  merge: 2,
  frames: 2,
  scale: 1 / 255,
  means: [0.48145466, 0.4578275, 0.40821073],
  spreads: [0.26862954, 0.26130258, 0.27577711],
};

it.each([
  [{}, FILLED],
  [
    { min_pixels: 784, max_pixels: 12845056, resample: 3, do_resize: true },
    { ...FILLED, minPixels: 784, maxPixels: 12845056 },
  ],
  [
    { size: { shortest_edge: 784, longest_edge: 50176 }, image_mean: [0, 0, 0], image_std: [1, 1, 1] },
    { ...FILLED, minPixels: 784, maxPixels: 50176, means: [0, 0, 0], spreads: [1, 1, 1] },
  ],
])('the processor configuration %j', (json, wanted) => {
  expect(readQwenProcessorConfig(readConfig('preprocessor_config.json', json))).toEqual(wanted);
});

it.each([
  [{ resample: 2 }, 'preprocessor_config.json: resample 2 is not built; choose a checkpoint that has 3'],
  [{ image_std: [1, 1] }, 'preprocessor_config.json: image_std is [1,1], a list of 3 numbers'],
  [{ size: { shortest_edge: 0 } }, 'preprocessor_config.json: size: shortest_edge is 0, an integer from 1'],
])('the processor configuration %j is refused', (json, message) => {
  expect(() => readQwenProcessorConfig(readConfig('preprocessor_config.json', json))).toThrow(message);
});
