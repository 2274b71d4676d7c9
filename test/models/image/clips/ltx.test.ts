// The transformer of LTX-Video against diffusers: one time for a clip, and one for each of its frames.

import { describe, expect, it } from 'vitest';
import { readLTXConfig } from '../../../../src/models/image/clips/ltx-config.ts';
import { ltxRotations } from '../../../../src/models/image/clips/ltx-rope.ts';
import { ltx } from '../../../../src/models/image/clips/ltx.ts';
import { describeGoldens, expectAgreement, framesLast, load } from '../../image-golden.ts';

const PLACES = { fps: 25, framesPerLatent: 4, factor: 16, isCausal: false };

describeGoldens(['ltx', 'ltx-frames'], async (golden, device, run) => {
  const config = readLTXConfig(golden.config);
  const model = await load(device, golden, (weights) => ltx(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const latents = framesLast(given('latents'));
  const [frames, rows, columns] = latents.shape as [number, number, number];
  const turns = ltxRotations(config, { frames, rows, columns }, PLACES);
  const words = given('mask').values.filter((one) => one === 1).length;
  const { values: text } = given('text');
  const { values: times } = given('timestep');
  const { values } = await run((_, input) => [
    model.forward({
      latents: input(latents),
      time: input({ shape: [times.length, 1], values: times }),
      text: model.condition(
        input({ shape: [1, words, config.textDims], values: text.slice(0, words * config.textDims) }),
      ),
      rotations: input({ shape: [turns.length / config.hidden, config.hidden], values: turns }),
    }),
  ]);
  expectAgreement(values[0]!, framesLast(golden.outputs.get('sample')!));
});

describe('configurations of LTX-Video', () => {
  it('those of the published models are read', () => {
    expect(readLTXConfig({})).toMatchObject({ hidden: 2048, channels: 128, layers: 28, biased: true });
    expect(
      readLTXConfig({
        attention_head_dim: 128,
        cross_attention_dim: 4096,
        num_layers: 48,
        out_channels: null,
      }),
    ).toMatchObject({ hidden: 4096, layers: 48, outBiased: true });
  });

  it.each([
    [{ patch_size_t: 2 }, 'unsupported', /^config\.json: patch_size_t 2 is not built/],
    [{ qk_norm: 'rms_norm' }, 'unsupported', /^config\.json: qk_norm "rms_norm" is not built/],
    [{ out_channels: 64 }, 'unsupported', /^config\.json: out_channels 64 is not built/],
    [
      { cross_attention_dim: 768 },
      'bad_checkpoint',
      /^config\.json: cross_attention_dim is 768, and 32 heads of 64 dimensions have 2048$/,
    ],
    [
      { attention_head_dim: 6, cross_attention_dim: 192 },
      'unsupported',
      /^config\.json: 32 heads over 192 columns are not built/,
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readLTXConfig(config)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error,
    );
  });

  it('the angles of the 2B model are those of f32 arithmetic, behind two columns that are not rotated', () => {
    const places = { fps: 25, framesPerLatent: 8, factor: 32, isCausal: false };
    const turns = ltxRotations({ hidden: 2048 }, { frames: 2, rows: 1, columns: 2 }, places);
    expect(turns.length).toBe(4 * 2048);
    const last = turns.subarray(3 * 2048);
    expect([...last.subarray(0, 2)]).toEqual([1, 0]);
    // By LTXVideoRotaryPosEmbed of diffusers.
    const wanted = [0.05024434253573418, -0.9987369775772095, -4.371138828673793e-8, -1];
    wanted.forEach((value, i) => expect(last[2 + i]).toBeCloseTo(value, 6));
    [0.7074093222618103, 0.7068041563034058].forEach((value, i) =>
      expect(last[2046 + i]).toBeCloseTo(value, 6),
    );
  });
});
