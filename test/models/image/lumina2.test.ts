// Lumina 2 against diffusers: captions of different lengths, query heads that share key heads.

import { describe, expect, it } from 'vitest';
import { readLumina2Config } from '../../../src/models/image/lumina2-config.ts';
import { lumina2Rotations } from '../../../src/models/image/lumina2-rope.ts';
import { lumina2 } from '../../../src/models/image/lumina2.ts';
import { channelsLast, describeGoldens, expectAgreement, itemOf, load } from '../image-golden.ts';

describeGoldens(['lumina2'], async (golden, device, run) => {
  const config = readLumina2Config(golden.config);
  const model = await load(device, golden, (weights) => lumina2(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const [latents, wanted] = [given('latents'), golden.outputs.get('sample')!].map(channelsLast);
  const [items, height, width] = latents!.shape as [number, number, number];
  for (let i = 0; i < items; i++) {
    const tokens = itemOf(given('mask'), i).values.reduce((sum, value) => sum + value, 0);
    const states = itemOf(given('caption'), i).values.slice(0, tokens * config.captionDims);
    const turns = lumina2Rotations(config, tokens, height / 2, width / 2);
    const { values } = await run((_, input) => {
      const table = (rows: Float32Array) =>
        input({ shape: [rows.length / config.dims, config.dims], values: rows });
      const text = input({ shape: [1, tokens, config.captionDims], values: states });
      const time = input({ shape: [1, 1], values: Float32Array.of(given('timestep').values[i]!) });
      const rotations = { image: table(turns.image), joint: table(turns.joint) };
      const caption = model.condition(text, table(turns.caption));
      return [model.forward(input(itemOf(latents!, i)), time, caption, rotations)];
    });
    expectAgreement(values[0]!, itemOf(wanted!, i));
  }
});

describe('configurations', () => {
  it('that of Lumina-Image 2.0 is read', () => {
    const config = readLumina2Config({ cap_feat_dim: 2304, ffn_dim_multiplier: null });
    expect(config).toMatchObject({ hidden: 2304, ffn: 9216, dims: 96, kvHeads: 8, timeDims: 1024 });
  });

  it('without a number of key heads each query head has its own', () => {
    expect(readLumina2Config({ num_kv_heads: null }).kvHeads).toBe(24);
  });

  it.each([
    [{ patch_size: 1 }, 'unsupported', 'patch_size 1 is not built; choose a checkpoint that has 2'],
    [{ out_channels: 32 }, 'unsupported', 'out_channels 32 is not built; choose a checkpoint that has 16'],
    [{ num_kv_heads: 7 }, 'bad_checkpoint', 'num_kv_heads is 7, which does not divide 24 heads'],
    [
      { axes_dim_rope: [32, 48, 48] },
      'bad_checkpoint',
      'axes_dim_rope is [32,48,48], and three even numbers are needed that make up heads of 2304 / 24 dimensions',
    ],
    [{ axes_lens: [300, 512] }, 'bad_checkpoint', 'axes_lens is [300,512], and three numbers are needed'],
  ])('%j is refused', (config, code, message) => {
    expect(() => readLumina2Config(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });

  it('captions and sizes beyond the positions that the model knows are refused', () => {
    const config = readLumina2Config({});
    expect(() => lumina2Rotations(config, 300, 8, 8)).toThrow(
      "a caption of 300 tokens exceeds the model's 299: shorten the prompt, or let `maxSequenceLength` cut it",
    );
    expect(() => lumina2Rotations(config, 8, 8, 513)).toThrow(
      "a width of 513 patches exceeds the model's 512: choose a smaller image",
    );
  });
});
