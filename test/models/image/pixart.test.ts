// The transformer of PixArt against diffusers: with a variance beside the prediction, and with the size of the image as an input.

import { describe, expect, it } from 'vitest';
import { patchify, unpatchify } from '../../../src/kernels/patchify.ts';
import { PATCH, readPixArtConfig } from '../../../src/models/image/pixart-config.ts';
import { pixart } from '../../../src/models/image/pixart.ts';
import { sincosPlaces } from '../../../src/models/image/sincos-places.ts';
import { channelsLast, describeGoldens, expectAgreement, load } from '../image-golden.ts';

/** Pixels along one side of a latent in the goldens. */
const FACTOR = 8;

describeGoldens(['pixart', 'pixart-alpha'], async (golden, device, run) => {
  const config = readPixArtConfig(golden.config);
  const model = await load(device, golden, (weights) => pixart(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const latents = channelsLast(given('sample'));
  const [items, height, width] = latents.shape as [number, number, number];
  const [rows, columns] = [height / PATCH, width / PATCH];
  const { hidden, sampleSize, placeScale: scale } = config;
  const values = sincosPlaces({ rows, columns, hidden, base: Math.floor(sampleSize / PATCH), scale });
  const { shape, values: mask } = given('mask');
  const counts = Float32Array.from({ length: items }, (_, item) =>
    mask.slice(item * shape[1]!, (item + 1) * shape[1]!).reduce((sum, value) => sum + value, 0),
  );
  const sides = Float32Array.of(FACTOR * height, FACTOR * width);
  const found = await run((_, input) => {
    const patches = model.forward({
      patches: patchify(input(latents), { size: PATCH, order: 'cpq' }),
      places: input({ shape: [1, rows * columns, hidden], values }),
      time: input({ ...given('timestep'), shape: [items, 1] }),
      size: config.takesSize
        ? {
            sides: input({ shape: [2, 1], values: sides }),
            ratio: input({ shape: [1, 1], values: Float32Array.of(height / width) }),
          }
        : null,
      text: model.condition(input(given('text'))),
      counts: input({ shape: [items], values: counts }, true),
    });
    return [unpatchify(patches, { size: PATCH, order: 'pqc', height, width })];
  });
  expectAgreement(found.values[0]!, channelsLast(golden.outputs.get('sample')!));
});

describe('configurations of PixArt', () => {
  it('that of PixArt-Σ in 1024 pixels is read', () => {
    const json = { caption_channels: 4096, sample_size: 128, interpolation_scale: 2 };
    expect(readPixArtConfig({ ...json, use_additional_conditions: false })).toMatchObject({
      hidden: 1152,
      outputs: 8,
      placeScale: 2,
      takesSize: false,
    });
    expect(readPixArtConfig({ ...json, interpolation_scale: null })).toMatchObject({
      placeScale: 2,
      takesSize: true,
    });
  });

  it.each([
    [{ norm_type: 'ada_norm_zero' }, 'unsupported', /^config\.json: norm_type "ada_norm_zero" is not built/],
    [
      { cross_attention_dim: 768 },
      'bad_checkpoint',
      /^config\.json: cross_attention_dim is 768, and 16 heads of 72 dimensions have 1152$/,
    ],
    [
      { out_channels: 5 },
      'unsupported',
      /^config\.json: out_channels 5 is not built; choose a checkpoint that has 4 or 8, beside in_channels 4$/,
    ],
    [
      { attention_head_dim: 4, cross_attention_dim: 64, use_additional_conditions: true },
      'unsupported',
      /^config\.json: attention_head_dim makes 64 columns with 16 heads; an image's size as an input needs a multiple of 12$/,
    ],
    [{ caption_channels: null }, 'bad_checkpoint', /caption_channels/],
  ])('%j is refused', (config, code, message) => {
    expect(() => readPixArtConfig({ caption_channels: 4096, ...config })).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error,
    );
  });
});
