// CLIP's text encoder against transformers: states at each depth, pooled text by both rules, both spellings of the names.

import { describe, expect, it } from 'vitest';
import { clip } from '../../../../src/models/text/clip/clip.ts';
import { poolingPosition, readClipConfig } from '../../../../src/models/text/clip/clip-config.ts';
import { describeGoldens, expectAgreement, load, type Values } from '../../image-golden.ts';

const GOLDENS = ['clip-quick-gelu', 'clip-eos', 'clip-projection', 'clip-new-names'];

describeGoldens(GOLDENS, async (golden, device, run) => {
  const config = readClipConfig(golden.config, golden.class);
  const forward = await load(device, golden, (weights) => clip(config, weights));
  const ids = golden.inputs.get('input_ids')!;
  const [batch, tokens] = ids.shape as [number, number];
  const ends: Values = {
    shape: [batch],
    values: Float32Array.from({ length: batch }, (_, i) => {
      const text = [...ids.values.subarray(i * tokens, (i + 1) * tokens)];
      return i * tokens + poolingPosition(config, text);
    }),
  };
  const pooledName = config.projection === null ? 'pooler_output' : 'text_embeds';
  for (const [name, wanted] of golden.outputs) {
    if (name === pooledName) continue;
    const [, back, normed] = /^hidden_(\d)(_normed)?$/.exec(name) ?? [null, '1', '_normed'];
    const depth = config.layers + 1 - Number(back);
    const pooled = golden.outputs.get(pooledName);
    const { values, dispatches } = await run((tape, input) => {
      const inputs = { ids: input(ids, true), ...(pooled ? { ends: input(ends, true) } : {}) };
      const out = forward(tape, inputs, { depth, normed: normed !== undefined });
      return pooled ? [out.states, out.pooled!] : [out.states];
    });
    expectAgreement(values[0]!, wanted);
    if (pooled) expectAgreement(values[1]!, pooled);
    if (!pooled) expect(dispatches).toBe(1 + 7 * depth + 1);
  }
});

describe('the token that pools a text', () => {
  const pooling = (end: number, ids: number[]) =>
    poolingPosition(readClipConfig({ eos_token_id: end }, 'CLIPTextModel'), ids);

  it('is the first end', () => expect(pooling(7, [9, 1, 7, 3, 7])).toBe(2));
  it('is the largest where the configuration is of the old kind', () =>
    expect(pooling(2, [5, 2, 9, 3, 9])).toBe(2));
  it('is the first of all where there is no end', () => expect(pooling(7, [9, 1])).toBe(0));
});

it('activations that are not built are refused', () => {
  const message =
    'config.json: hidden_act "relu" is not built; choose a checkpoint that has "quick_gelu" or "gelu"';
  expect(() => readClipConfig({ hidden_act: 'relu' }, 'CLIPTextModel')).toThrow(
    expect.objectContaining({ code: 'unsupported', message }) as Error,
  );
});
