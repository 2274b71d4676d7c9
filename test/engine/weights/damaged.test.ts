// Checkpoints whose values are damaged: refused by file, tensor and count, in every format of the packed weights.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { TextModelOptions } from '../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../src/files/error.ts';
import { editTensors, MINUS_INFINITY, NAN, spoilTensor } from '../checkpoint-folder.ts';
import { collect, goldenModel, greedy } from '../fixture.ts';

let folder: { path: string; remove(): void };
beforeEach(() => void (folder = goldenModel('qwen3')));
afterEach(() => folder.remove());

/** Opens the folder, generates some tokens, and closes it. */
async function open(options: Partial<TextModelOptions> = {}): Promise<number[]> {
  const given = { model: folder.path, safe: true, memoryBudget: 2 ** 30, ...options };
  const model = await openInline(TEXT, nodePlatform, given);
  const { ids } = await collect(model.generate(greedy([5, 9, 40], 4)));
  await model.close();
  return ids[0]!;
}

async function refusal(options: Partial<TextModelOptions> = {}): Promise<EngineError> {
  const outcome = await open(options).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(EngineError);
  return outcome as EngineError;
}

describe('a checkpoint with values that no weight has', () => {
  const NAMES = [
    'model.embed_tokens.weight',
    'model.norm.weight',
    'model.layers.1.self_attn.k_norm.weight',
    'model.layers.0.self_attn.v_proj.weight',
    'model.layers.1.mlp.up_proj.weight',
  ];
  it.each(NAMES)('NaN in %s is refused by file, tensor and count', async (name) => {
    spoilTensor(folder.path, name, NAN, [0, 5, 15]);
    const { code, message, param } = await refusal();
    expect({ code, param }).toEqual({ code: 'bad_checkpoint', param: name });
    expect(message).toContain(`tensor ${name} of model.safetensors has 3 values that are NaN or infinite`);
  });

  it.each(['int8', 'int4'] as const)('infinity is refused where weights become %s', async (quantization) => {
    const name = 'model.layers.1.mlp.down_proj.weight';
    spoilTensor(folder.path, name, MINUS_INFINITY, [100]);
    for (let time = 0; time < 2; time++) {
      const { code, message } = await refusal({ quantization });
      expect(code).toBe('bad_checkpoint');
      expect(message).toContain(`${name} of model.safetensors has 1 value that is NaN or infinite`);
    }
  });

  it('magnitudes that no sum of squares holds are refused, too', async () => {
    const [name, other] = ['model.layers.0.mlp.gate_proj.weight', 'model.layers.1.mlp.gate_proj.weight'];
    const number = { F32: 0x7f610000, F16: 0x7bff, BF16: 0x7f61 }; // 3e38
    for (const spoiled of [name, other]) spoilTensor(folder.path, spoiled, number, [3, 4]);
    const { code, message } = await refusal();
    expect(code).toBe('bad_checkpoint');
    expect(message).toContain(`tensor ${name} of model.safetensors (and 1 more tensor) has 2 values`);
    expect(message).toContain('above 1.8e19');
  });
});

describe('a checkpoint whose last tensors are zeros', () => {
  /** Replaces tensors whose names match the pattern by zeros, in file order. */
  function clear(pattern: RegExp): void {
    editTensors(folder.path, (tensors) => {
      for (const [name, tensor] of tensors)
        if (pattern.test(name)) tensors.set(name, { ...tensor, bytes: new Uint8Array(tensor.bytes.length) });
    });
  }

  it('was cut while it was fetched', async () => {
    clear(/layers\.1\.(mlp\.up|post|self)|model\.norm/);
    const first = 'model.layers.1.mlp.up_proj.weight';
    const { code, message, param } = await refusal();
    expect({ code, param }).toEqual({ code: 'bad_checkpoint', param: first });
    expect(message).toMatch(/model\.safetensors holds only zeros from tensor .* on, \d\d % of what is read/);
  });

  it('may have them elsewhere, as layers have that were added to a trained model', async () => {
    clear(/layers\.1\.(mlp\.down_proj|self_attn\.o_proj)/);
    expect(await open()).toHaveLength(4);
  });
});
