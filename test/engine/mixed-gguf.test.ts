// GGUF files whose tensors have types of their own, as Unsloth's dynamic ones: each stays in its own codes, and the answers are those of the same
// values in f32.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, planModel, shippedModelPath } from '../../src/index.ts';
import type { Device } from '../../src/gpu/device.ts';
import { formatOfSource, type PackedName } from '../../src/kernels/formats.ts';
import { ggufOfFolder, typeId } from '../files/gguf/from-folder.ts';
import type { WrittenTensor } from '../files/gguf/write-gguf.ts';
import { openModelTestDevice } from '../gpu/test-device.ts';
import { Random } from '../kernels/compute.ts';
import { columnsOf, packStored, randomBlocks } from '../kernels/stored.ts';
import { collect } from './fixture.ts';

let device: Device;
let root = '';
beforeAll(async () => {
  device = await openModelTestDevice();
  root = mkdtempSync(join(tmpdir(), 'svc-mixed-'));
});
afterAll(() => {
  device.destroy();
  rmSync(root, { recursive: true, force: true });
});

/** Types of tensors by parts of their names. Rows of ffn_down have 640 values, which are no whole blocks of 256. */
const TYPES: readonly [RegExp, PackedName][] = [
  [/token_embd/, 'iq2_xxs'],
  [/attn_q\./, 'iq2_xs'],
  [/attn_k\./, 'iq3_s'],
  [/attn_v\./, 'q5_k'],
  [/attn_output\./, 'iq1_m'],
  [/ffn_(gate|up)\./, 'iq2_s'],
  [/ffn_down\./, 'iq4_nl'],
];

const typeOf = (name: string): PackedName | undefined => TYPES.find(([pattern]) => pattern.test(name))?.[1];

/** The blocks that stand in for a tensor. */
function blocksOf({ name, shape }: WrittenTensor, type: PackedName) {
  const seed = Array.from(name).reduce((sum, letter) => 31 * sum + letter.charCodeAt(0), 0);
  return randomBlocks(type, shape[0]!, shape[1]!, new Random(seed), 2 ** -10);
}

async function write(file: string, replaced: (tensor: WrittenTensor) => WrittenTensor): Promise<string> {
  const path = join(root, file);
  writeFileSync(path, await ggufOfFolder(shippedModelPath(), {}, replaced));
  return path;
}

async function idsOf(path: string) {
  const model = await openTextModel({ model: path, inline: true, maxRunningRequests: 1, contextLength: 256 });
  try {
    const prompt = { messages: [{ role: 'user' as const, content: 'Hello, who are you?' }] };
    const { ids } = await collect(model.generate({ prompt, temperature: 1, seed: 5, maxTokens: 12 }));
    return { ids, formats: model.info.weightFormats };
  } finally {
    await model.close();
  }
}

it('each tensor of a mix stays in its own codes', { timeout: 60_000 }, async () => {
  const values = new Map<string, Uint8Array>();
  let bytes = 0;
  const mixed = await write('mixed.gguf', (tensor) => {
    const type = typeOf(tensor.name);
    if (type === undefined) return tensor;
    const { blocks } = blocksOf(tensor, type);
    bytes += blocks.length;
    return { ...tensor, type: typeId(type.toUpperCase() as Parameters<typeof typeId>[0]), bytes: blocks };
  });
  const named: WrittenTensor[] = [];
  await ggufOfFolder(shippedModelPath(), {}, (tensor) => (named.push(tensor), tensor));
  for (const tensor of named) {
    const type = typeOf(tensor.name);
    if (type === undefined) continue;
    const matrix = packStored(device, type, blocksOf(tensor, type), { format: 'f32' });
    const rows = await columnsOf(device, matrix);
    values.set(tensor.name, new Uint8Array(Float32Array.from(rows.flatMap((row) => [...row])).buffer));
  }
  const wide = await write('wide.gguf', (tensor) => {
    const floats = values.get(tensor.name);
    return floats === undefined ? tensor : { ...tensor, type: typeId('F32'), bytes: floats };
  });
  const found = await idsOf(mixed);
  const formats = new Set(TYPES.map(([, type]) => formatOfSource(type).name));
  expect(new Set(found.formats)).toEqual(formats);
  expect(found.ids).toEqual((await idsOf(wide)).ids);
  expect(new Set(found.ids.flat()).size).toBeGreaterThan(3);
  // Codes and scales take about what they take in the file; the rest are norms.
  const { choices } = await planModel({ model: mixed });
  expect(choices.find(({ quantization }) => quantization === 'none')!.weights).toBeLessThan(1.1 * bytes);
});
