// The transformer of Wan against diffusers: one time for a clip, one for each of its frames, and images beside the text.

import { describe, expect, it } from 'vitest';
import { PATCH, readWanConfig } from '../../../../src/models/image/clips/wan-config.ts';
import { wanRotations } from '../../../../src/models/image/clips/wan-rope.ts';
import { wan } from '../../../../src/models/image/clips/wan.ts';
import { describeGoldens, expectAgreement, framesLast, load } from '../../image-golden.ts';

describeGoldens(['wan', 'wan-frames', 'wan-image'], async (golden, device, run) => {
  const config = readWanConfig(golden.config);
  const model = await load(device, golden, (weights) => wan(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const latents = framesLast(given('latents'));
  const [frames, height, width] = latents.shape as [number, number, number];
  const turns = wanRotations(config, { frames, rows: height / PATCH, columns: width / PATCH });
  const { values } = await run((_, input) => {
    const images = golden.inputs.get('images');
    const states =
      images && input({ ...images, shape: [1, images.shape[0]! * images.shape[1]!, images.shape[2]!] });
    const { values: times } = given('timestep');
    return [
      model.forward({
        latents: input(latents),
        time: input({ shape: [times.length, 1], values: times }),
        text: model.conditionText(input(given('text'))),
        image: states ? model.conditionImage(states) : null,
        rotations: input({ shape: [turns.length / config.dims, config.dims], values: turns }),
      }),
    ];
  });
  expectAgreement(values[0]!, framesLast(golden.outputs.get('sample')!));
});

describe('configurations of Wan', () => {
  it('those of the published models are read', () => {
    expect(readWanConfig({ num_attention_heads: 12, ffn_dim: 8960, num_layers: 30 })).toMatchObject({
      hidden: 1536,
      channels: 16,
      image: null,
      axes: [44, 42, 42],
    });
    expect(readWanConfig({ in_channels: 36, image_dim: 1280, added_kv_proj_dim: 5120 }).image).toEqual({
      dims: 1280,
      places: null,
    });
    expect(readWanConfig({ in_channels: 48, out_channels: null }).channels).toBe(48);
  });

  it.each([
    [
      { patch_size: [2, 2, 2] },
      'unsupported',
      'patch_size [2,2,2] is not built; choose a checkpoint that has [1,2,2]',
    ],
    [{ qk_norm: 'rms_norm' }, 'unsupported', /^config\.json: qk_norm "rms_norm" is not built/],
    [
      { attention_head_dim: 4 },
      'bad_checkpoint',
      'attention_head_dim is 4: an even number of at least 6 is needed, so that frames, rows and columns rotate pairs of it',
    ],
    [
      { image_dim: 1280, added_kv_proj_dim: 1280 },
      'bad_checkpoint',
      'added_kv_proj_dim is 1280 and image_dim 1280: both or none are needed, and the first is the width of all heads, 5120',
    ],
  ])('%j is refused', (config, code, message) => {
    const wanted: unknown =
      typeof message === 'string' ? `config.json: ${message}` : expect.stringMatching(message);
    expect(() => readWanConfig(config)).toThrow(expect.objectContaining({ code, message: wanted }) as Error);
  });

  it('clips and sizes beyond the positions that the model knows are refused', () => {
    const config = readWanConfig({});
    expect(() => wanRotations(config, { frames: 1025, rows: 1, columns: 1 })).toThrow(
      "a clip of 1025 frames of latents exceeds the model's 1024: choose fewer frames",
    );
    expect(() => wanRotations(config, { frames: 1, rows: 1025, columns: 1 })).toThrow(
      "a height of 1025 patches exceeds the model's 1024: choose a smaller image",
    );
  });
});
