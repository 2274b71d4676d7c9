// GPTQ, AWQ and compressed-tensors checkpoints answer as checkpoints of the same weights in f32.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, planModel } from '../../src/index.ts';
import { Random } from '../kernels/compute.ts';
import {
  awqTensors,
  byteTensors,
  gptqTensors,
  packedTensors,
  randomMatrix,
  shippedTensors,
  wideTensor,
  writeAdapter,
  writeCheckpoint,
  type CodedMatrix,
  type Made,
} from './coded-checkpoints.ts';

let root = '';
beforeAll(() => void (root = mkdtempSync(join(tmpdir(), 'svc-coded-'))));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Writes a checkpoint in codes and one of the same weights in f32. */
async function write(
  name: string,
  settings: Record<string, unknown>,
  make: (module: string, shape: readonly [number, number]) => { matrix: CodedMatrix; tensors: Made[] } | null,
): Promise<void> {
  const wide = new Map<string, Made[]>();
  const coded = await shippedTensors((module, shape) => {
    const made = make(module, shape);
    if (made === null) return null;
    wide.set(module, [wideTensor(module, made.matrix)]);
    return made.tensors;
  });
  writeCheckpoint(join(root, name), { quantization_config: settings }, coded);
  writeCheckpoint(join(root, `${name}-wide`), {}, await shippedTensors((module) => wide.get(module) ?? null));
}

async function answer(name: string, adapter: string | null) {
  const options = { inline: true, contextLength: 128, prefillChunk: 16, maxRunningRequests: 1 };
  const loraPaths = adapter === null ? [] : [join(root, adapter)];
  const model = await openTextModel({ model: join(root, name), ...options, loraPaths });
  const ids = Array.from({ length: 40 }, (_, i) => (i * i * 31 + i * 7) % 250);
  const lora = adapter === null ? {} : { lora: adapter };
  const request = { prompt: { ids }, maxTokens: 6, temperature: 0, ignoreEos: true, logprobs: 5, ...lora };
  const tokens: { id: number; logprob: number }[] = [];
  for await (const event of model.generate(request))
    if (event.type === 'delta') tokens.push(...(event.logprobs ?? []).flatMap(({ top }) => top));
  const { weights } = model.info.memory;
  await model.close();
  return { tokens, weights };
}

async function expectEqual(name: string, adapter: string | null = null): Promise<void> {
  const [own, wanted] = [await answer(name, adapter), await answer(`${name}-wide`, adapter)];
  expect(own.tokens.map(({ id }) => id)).toEqual(wanted.tokens.map(({ id }) => id));
  own.tokens.forEach(({ logprob }, i) =>
    expect(Math.abs(logprob - wanted.tokens[i]!.logprob)).toBeLessThan(1e-3),
  );
  expect(own.weights).toBeLessThan(wanted.weights / 2);
  if (adapter !== null) return;
  const plan = await planModel({ model: join(root, name) });
  expect(plan.choices).toMatchObject([{ quantization: 'none', weights: own.weights }]);
}

function shuffled(values: Int32Array, random: Random): Int32Array {
  return Int32Array.from(random.permutation(values.length), (i) => values[i]!);
}

it('GPTQ weights of 4 bits with act-order, beside biases of zeros, with and without a LoRA', async () => {
  const random = new Random(4);
  const orders = new Map<string, Int32Array>();
  const adapted = new Map<string, readonly [number, number]>();
  const settings = { quant_method: 'gptq', bits: 4, group_size: 64, desc_act: true, sym: false };
  await write('gptq', settings, (module, shape) => {
    const matrix = randomMatrix(4, shape, 64, random);
    // Matrices of one input are quantized in one order; those of layer 1 are not.
    const shared = module.replace(/[qkv]_proj$/, 'qkv').replace(/(gate|up)_proj$/, 'gate_up');
    const input = module.includes('layers.1.') ? module : shared;
    const groupOf = orders.get(input) ?? shuffled(matrix.groupOf, random);
    orders.set(input, groupOf);
    adapted.set(module, shape);
    const ordered = { ...matrix, groupOf };
    return { matrix: ordered, tensors: gptqTensors(module, ordered) };
  });
  await expectEqual('gptq');
  writeAdapter(join(root, 'adapter'), adapted, random);
  await expectEqual('gptq', 'adapter');
}, 120_000);

it('AWQ weights of 4 bits', async () => {
  const random = new Random(5);
  const settings = { quant_method: 'awq', bits: 4, group_size: 128, zero_point: true, version: 'gemm' };
  await write('awq', settings, (module, shape) => {
    const matrix = randomMatrix(4, shape, 128, random);
    return { matrix, tensors: awqTensors(module, matrix) };
  });
  await expectEqual('awq');
}, 120_000);

it('compressed-tensors weights of 4 bits in attention but for v, and of signed bytes in MLPs', async () => {
  const random = new Random(6);
  const weights = { type: 'int', strategy: 'group', group_size: 32 };
  const settings = {
    quant_method: 'compressed-tensors',
    format: 'mixed-precision',
    ignore: ['lm_head', 're:.*v_proj$'],
    config_groups: {
      group_0: {
        format: 'pack-quantized',
        targets: ['re:.*self_attn.*'],
        weights: { ...weights, num_bits: 4 },
      },
      group_1: {
        format: 'int-quantized',
        targets: ['Linear'],
        weights: { type: 'int', strategy: 'channel', num_bits: 8 },
        input_activations: { type: 'int', num_bits: 8, dynamic: true },
      },
    },
  };
  await write('compressed', settings, (module, shape) => {
    if (module.endsWith('v_proj')) return null;
    if (module.includes('self_attn')) {
      const matrix = randomMatrix(4, shape, 32, random);
      return { matrix, tensors: packedTensors(module, matrix) };
    }
    const matrix = randomMatrix(8, shape, shape[1], random);
    matrix.zeros.fill(128);
    return { matrix, tensors: byteTensors(module, matrix) };
  });
  await expectEqual('compressed');
}, 120_000);
