// The transformer of Stable Diffusion 3 against diffusers: without norms of heads, with two attentions in a block, and with a mask.

import { describe, expect, it } from 'vitest';
import { patchify, unpatchify } from '../../../src/kernels/patchify.ts';
import { readSD3Config } from '../../../src/models/image/sd3-config.ts';
import { sd3, sd3PlaceIds, sd3Places } from '../../../src/models/image/sd3.ts';
import { describeGoldens, expectAgreement, load } from '../image-golden.ts';

describeGoldens(['sd3', 'sd3-dual', 'sd3-inpaint'], async (golden, device, run) => {
  const config = readSD3Config(golden.config);
  const model = await load(device, golden, (weights) => sd3(config, weights));
  const places = await load(device, golden, (weights) => sd3Places(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const [items, channels, height, width] = given('sample').shape as [number, number, number, number];
  const pixels = height * width;
  const sample = Float32Array.from({ length: items * pixels * channels }, (_, i) => {
    const [pixel, channel] = [Math.floor(i / channels), i % channels];
    const item = Math.floor(pixel / pixels);
    return given('sample').values[(item * channels + channel) * pixels + (pixel % pixels)]!;
  });
  const rows = sd3PlaceIds(config, { rows: height / 2, columns: width / 2 });
  const ids = device.tensor('step', 'ids', [1, rows.length], rows);
  const { values } = await run((tape, input) => {
    const x = input({ shape: [items, height, width, channels], values: sample });
    const y = model.forward({
      patches: patchify(x, { size: 2, order: 'cpq' }),
      places: places(tape, ids),
      time: input({ ...given('timestep'), shape: [items, 1] }),
      text: model.condition(input(given('text'))),
      pooled: input(given('pooled')),
    });
    return [unpatchify(y, { size: 2, order: 'pqc', height, width })];
  });
  const found = Float32Array.from({ length: values[0]!.length }, (_, i) => {
    const [plane, pixel] = [Math.floor(i / pixels), i % pixels];
    const [item, channel] = [Math.floor(plane / config.channels), plane % config.channels];
    return values[0]![(item * pixels + pixel) * config.channels + channel]!;
  });
  expectAgreement(found, golden.outputs.get('sample')!);
});

describe('positions of Stable Diffusion 3', () => {
  it('are those in the middle of the table', () => {
    expect([...sd3PlaceIds({ places: 5 }, { rows: 2, columns: 3 })]).toEqual([6, 7, 8, 11, 12, 13]);
    expect([...sd3PlaceIds({ places: 3 }, { rows: 3, columns: 3 })]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('configurations of Stable Diffusion 3', () => {
  it.each([
    [{ patch_size: 4 }, 'unsupported', 'patch_size 4 is not built; choose a checkpoint that has 2'],
    [
      { qk_norm: 'layer_norm' },
      'unsupported',
      'qk_norm "layer_norm" is not built; choose a checkpoint that has "none" or "rms_norm"',
    ],
    [
      { caption_projection_dim: 1536 },
      'bad_checkpoint',
      'caption_projection_dim is 1536, and 18 heads of 64 dimensions have 1152',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readSD3Config(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
