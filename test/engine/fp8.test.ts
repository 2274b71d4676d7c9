// The model that ships as an FP8 checkpoint: its codes answer as a checkpoint of the same weights in f32.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, planModel, shippedModelPath } from '../../src/index.ts';
import { readSafetensors, safetensorsHead, type TensorSpec } from '../../src/files/tensors/safetensors.ts';
import { memorySource } from '../files/memory-source.ts';
import { Random } from '../kernels/compute.ts';

const TILE = 128;
let root = '';

interface Made {
  spec: TensorSpec;
  data: Uint8Array;
}

function write(name: string, quantized: Record<string, unknown>, tensors: readonly Made[]): void {
  const folder = join(root, name);
  cpSync(shippedModelPath(), folder, { recursive: true, dereference: true });
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, ...quantized }));
  const head = safetensorsHead(tensors.map(({ spec }) => spec));
  writeFileSync(join(folder, 'model.safetensors'), Buffer.concat([head, ...tensors.map(({ data }) => data)]));
}

const f32 = (name: string, shape: number[], values: Float32Array): Made => ({
  spec: { name, dtype: 'F32', shape },
  data: new Uint8Array(values.buffer),
});

/** Random codes of a layer's matrix, a scale for each tile, and the same weights in f32. */
function coded(
  name: string,
  [rows, k]: readonly [number, number],
  random: Random,
): { fp8: Made[]; wide: Made } {
  const tiles = [Math.ceil(rows / TILE), Math.ceil(k / TILE)] as const;
  const scales = Float32Array.from({ length: tiles[0] * tiles[1] }, () => (1 + random.next()) * 2 ** -9);
  const codes = new Uint8Array(rows * k);
  const values = new Float32Array(rows * k);
  for (let i = 0; i < codes.length; i++) {
    const [exponent, mantissa, sign] = [4 + random.integer(5), random.integer(8), random.integer(2)];
    codes[i] = (sign << 7) | (exponent << 3) | mantissa;
    const scale = scales[Math.floor(Math.floor(i / k) / TILE) * tiles[1] + Math.floor((i % k) / TILE)]!;
    values[i] = (sign ? -scale : scale) * (1 + mantissa / 8) * 2 ** (exponent - 7);
  }
  return {
    fp8: [
      { spec: { name, dtype: 'F8_E4M3', shape: [rows, k] }, data: codes },
      f32(`${name}_scale_inv`, [...tiles], scales),
    ],
    wide: f32(name, [rows, k], values),
  };
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'svc-fp8-'));
  const file = readFileSync(join(shippedModelPath(), 'model.safetensors'));
  const { tensors } = await readSafetensors(memorySource('model.safetensors', file));
  const [fp8, wide]: [Made[], Made[]] = [[], []];
  const random = new Random(8);
  for (const { name, dtype, shape, offset, bytes } of tensors.values()) {
    if (/layers\..*_proj\.weight$/.test(name)) {
      const made = coded(name, shape as [number, number], random);
      fp8.push(...made.fp8);
      wide.push(made.wide);
    } else {
      const kept = {
        spec: { name, dtype, shape } as TensorSpec,
        data: file.subarray(offset, offset + bytes),
      };
      fp8.push(kept);
      wide.push(kept);
    }
  }
  const declared = {
    quant_method: 'fp8',
    fmt: 'e4m3',
    activation_scheme: 'dynamic',
    weight_block_size: [TILE, TILE],
  };
  write('fp8', { quantization_config: declared }, fp8);
  write('wide', {}, wide);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function answer(name: string) {
  const options = { inline: true, contextLength: 128, prefillChunk: 16, maxRunningRequests: 1 };
  const model = await openTextModel({ model: join(root, name), ...options });
  const ids = Array.from({ length: 40 }, (_, i) => (i * i * 31 + i * 7) % 250);
  const tokens: { id: number; logprob: number }[] = [];
  const request = { prompt: { ids }, maxTokens: 6, temperature: 0, ignoreEos: true, logprobs: 5 };
  for await (const event of model.generate(request))
    if (event.type === 'delta') tokens.push(...(event.logprobs ?? []).flatMap(({ top }) => top));
  const { weights } = model.info.memory;
  await model.close();
  return { tokens, weights };
}

it('log probabilities of FP8 weights agree within 1e-3, and the plan counts the bytes', async () => {
  const [own, wanted] = [await answer('fp8'), await answer('wide')];
  expect(own.tokens.map(({ id }) => id)).toEqual(wanted.tokens.map(({ id }) => id));
  own.tokens.forEach(({ logprob }, i) =>
    expect(Math.abs(logprob - wanted.tokens[i]!.logprob)).toBeLessThan(1e-3),
  );
  expect(own.weights).toBeLessThan(wanted.weights / 2);
  const plan = await planModel({ model: join(root, 'fp8') });
  expect(plan.choices).toMatchObject([{ quantization: 'none', weights: own.weights }]);
}, 120_000);
