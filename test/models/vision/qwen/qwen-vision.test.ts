// The vision tower of Qwen2.5-VL against transformers, with what its processor makes of an image.

import { describe, expect, it } from 'vitest';
import { resample } from '../../../../src/files/image/resample.ts';
import { smartSize } from '../../../../src/models/vision/smart-size.ts';
import { readConfig } from '../../../../src/models/config-values.ts';
import { readQwenProcessorConfig } from '../../../../src/models/vision/qwen/qwen-processor-config.ts';
import { readQwenVisionConfig } from '../../../../src/models/vision/qwen/qwen-vision-config.ts';
import { visionLayout } from '../../../../src/models/vision/qwen/qwen-vision-layout.ts';
import { visionPatches } from '../../../../src/models/vision/qwen/qwen-vision-patches.ts';
import { qwenVision } from '../../../../src/models/vision/qwen/qwen-vision.ts';
import { wrappedTensors } from '../../../../src/files/checkpoint/text-half.ts';
import { describeGoldens, expectAgreement, load, type ModuleGolden } from '../../image-golden.ts';

const PROCESSOR = readQwenProcessorConfig(readConfig('preprocessor_config.json', {}));

/** The image of a golden, as the processor resizes it. */
function imageOf(golden: ModuleGolden) {
  const { shape, values } = golden.inputs.get('image')!;
  const image = { height: shape[0]!, width: shape[1]!, data: Uint8Array.from(values) };
  const { patch, merge, minPixels, maxPixels } = PROCESSOR;
  const { width, height } = smartSize(image, { multiple: patch * merge, minPixels, maxPixels });
  return resample(image, width, height, { filter: 'bicubic' });
}

describeGoldens(['qwen-vision', 'qwen-vision-small'], async (golden, device, run) => {
  const config = readQwenVisionConfig(golden.config);
  const image = imageOf(golden);
  const grid = { rows: image.height / config.patch, columns: image.width / config.patch };
  expect([1, grid.rows, grid.columns]).toEqual([...golden.outputs.get('grid')!.values]);
  const layout = visionLayout(config, grid);
  const values = visionPatches(PROCESSOR, layout, image);
  const columns = values.length / layout.patches.length;
  expectAgreement(values.slice(0, columns), golden.outputs.get('first_patch')!);
  const model = await load(device, golden, (weights) => qwenVision(config, weights), wrappedTensors);
  const { merge, dims } = config;
  const computed = await run((_, input) => [
    ...model(
      {
        patches: input({ shape: [1, layout.patches.length / merge, merge, columns], values }),
        rotations: input({ shape: [layout.patches.length, dims], values: layout.rotations }),
        places: input({ shape: [layout.patches.length], values: Float32Array.from(layout.places) }, true),
      },
      layout.groups,
    ),
  ]);
  expectAgreement(computed.values[0]!, golden.outputs.get('rows')!);
});

describe('sizes of images', () => {
  const bounds = { multiple: 28, minPixels: 56 * 56, maxPixels: 28 * 28 * 1280 };

  it.each([
    [
      { width: 130, height: 75 },
      { width: 140, height: 84 },
    ],
    [
      { width: 42, height: 70 },
      { width: 56, height: 56 },
    ], // halves are rounded to even numbers
    [
      { width: 30, height: 20 },
      { width: 84, height: 56 },
    ],
    [
      { width: 3000, height: 2000 },
      { width: 1204, height: 812 },
    ],
  ])('%j becomes %j', (image, wanted) => {
    expect(smartSize(image, bounds)).toEqual(wanted);
  });

  it('an image that is too narrow is refused', () => {
    expect(() => smartSize({ width: 2001, height: 10 }, bounds)).toThrow(
      'an image of 2001 × 10 pixels is too narrow: one side may be at most 200 times the other',
    );
  });
});

it('windows below a cell are refused', () => {
  expect(() => readQwenVisionConfig({ vision_config: { window_size: 27 } })).toThrow(
    'config.json: vision_config: window_size is 27, at least 28 pixels are needed for a cell of 2 × 2 patches',
  );
});
