// The transformer of Sana against diffusers: with norms of queries and keys, with positions, with tokens of 2 × 2 latents, and with
// the guidance scale as an input.

import { describe, expect, it } from 'vitest';
import { readSanaConfig } from '../../../src/models/image/sana-config.ts';
import { sana } from '../../../src/models/image/sana.ts';
import { sincosPlaces } from '../../../src/models/image/sincos-places.ts';
import { channelsLast, describeGoldens, expectAgreement, load } from '../image-golden.ts';

describeGoldens(['sana', 'sana-placed', 'sana-patched', 'sana-sprint'], async (golden, device, run) => {
  const config = readSanaConfig(golden.config);
  const model = await load(device, golden, (weights) => sana(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const latents = channelsLast(given('sample'));
  const [items, rows, columns] = latents.shape as [number, number, number];
  const { hidden, patch, placeScale: scale, guidanceScale } = config;
  const [down, across, base] = [rows / patch, columns / patch, Math.floor(config.sampleSize / patch)];
  const places =
    scale === null
      ? null
      : {
          shape: [1, down * across, hidden],
          values: sincosPlaces({ rows: down, columns: across, hidden, base, scale }),
        };
  const { shape, values: mask } = given('mask');
  const counts = Float32Array.from({ length: items }, (_, item) =>
    mask.slice(item * shape[1]!, (item + 1) * shape[1]!).reduce((sum, value) => sum + value, 0),
  );
  const { values } = await run((_, input) => [
    model.forward({
      latents: input(latents),
      time: input({ ...given('timestep'), shape: [items, 1] }),
      guidance: guidanceScale === null ? null : input({ ...given('guidance'), shape: [items, 1] }),
      places: places && input(places),
      text: model.condition(input(given('text'))),
      counts: input({ shape: [items], values: counts }, true),
    }),
  ]);
  expectAgreement(values[0]!, channelsLast(golden.outputs.get('sample')!));
});

describe('configurations of Sana', () => {
  it('that of the 1.6 B model is read', () => {
    const json = { qk_norm: null, caption_channels: 2304, mlp_ratio: 2.5, interpolation_scale: null };
    expect(readSanaConfig(json)).toMatchObject({
      hidden: 2240,
      inner: 5600,
      headNorm: false,
      placeScale: null,
    });
  });

  it.each([
    [
      { qk_norm: 'rms_norm_across_heads', num_cross_attention_heads: 3, cross_attention_head_dim: 10 },
      'unsupported',
      'cross_attention_head_dim makes 30 columns of 3 heads, which have a norm; choose a checkpoint that makes a multiple of 4',
    ],
    [
      { qk_norm: 'layer_norm' },
      'unsupported',
      'qk_norm "layer_norm" is not built; choose a checkpoint that has "none" or "rms_norm_across_heads"',
    ],
    [
      { cross_attention_dim: 1152 },
      'bad_checkpoint',
      'cross_attention_dim is 1152, and 70 heads of 32 dimensions have 2240',
    ],
    [
      { mlp_ratio: 2.401 },
      'unsupported',
      'mlp_ratio makes 5378 channels of 2240; choose a checkpoint that makes a multiple of 4',
    ],
    [
      { out_channels: 64 },
      'unsupported',
      'out_channels 64 is not built; choose a checkpoint that has 32, like in_channels',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readSanaConfig(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
