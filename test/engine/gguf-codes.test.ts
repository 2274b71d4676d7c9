// A GGUF file with several block formats answers as a file of the same weights in f32.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, shippedModelPath, type TextModel } from '../../src/index.ts';
import type { GgufTypeName } from '../../src/files/tensors/tensor-types.ts';
import type { PackedName } from '../../src/kernels/formats.ts';
import { ggufOfFolder, typeId } from '../files/gguf/from-folder.ts';
import { f32Tensor, type WrittenTensor } from '../files/gguf/write-gguf.ts';
import { openModelTestDevice } from '../gpu/test-device.ts';
import { Random } from '../kernels/compute.ts';
import { columnsOf, packStored, randomBlocks, type StoredMatrix } from '../kernels/stored.ts';

/** Formats of layers as in the mixes that are published, which come again and again. Rows of ffn_down are not whole blocks of 256. */
const USUAL: Record<string, PackedName> = {
  q: 'q4_k',
  k: 'q4_k',
  v: 'q6_k',
  output: 'q4_k',
  gate: 'q4_k',
  up: 'q4_k',
  down: 'q8_0',
};
const LAYERS: readonly Record<string, PackedName>[] = [
  USUAL,
  { ...USUAL, v: 'q4_k', up: 'q6_k' },
  { ...USUAL, output: 'q6_k' },
];

function typeOf(name: string): PackedName {
  const [, layer, part] = /^blk\.(\d+)\.(?:attn|ffn)_(\w+)\.weight$/.exec(name) ?? [];
  return layer === undefined ? 'q6_k' : LAYERS[Number(layer) % LAYERS.length]![part!]!;
}

/** Largest f16 scales, none of which is subnormal: weights are about 2⁻³ in most formats. */
const sizeOf = (name: PackedName): number => (name === 'mxfp4' ? 2 ** -6 : 2 ** -10);

const isMatrix = ({ shape }: WrittenTensor): boolean => shape.length === 2;

let root = '';
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'svc-codes-'));
  const matrices = new Map<string, StoredMatrix>();
  const random = new Random(1);
  const coded = await ggufOfFolder(shippedModelPath(), {}, (tensor) => {
    if (!isMatrix(tensor)) return tensor;
    const type = typeOf(tensor.name);
    const [rows, k] = tensor.shape as [number, number];
    const matrix = randomBlocks(type, rows, k, random, sizeOf(type));
    matrices.set(tensor.name, matrix);
    return { ...tensor, type: typeId(type.toUpperCase() as GgufTypeName), bytes: matrix.blocks };
  });
  const values = await valuesOf(matrices);
  const wide = await ggufOfFolder(shippedModelPath(), {}, (tensor) =>
    isMatrix(tensor) ? f32Tensor(tensor.name, tensor.shape, values.get(tensor.name)!) : tensor,
  );
  writeFileSync(join(root, 'codes.gguf'), coded);
  writeFileSync(join(root, 'f32.gguf'), wide);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function valuesOf(matrices: ReadonlyMap<string, StoredMatrix>): Promise<Map<string, Float32Array>> {
  const device = await openModelTestDevice();
  const values = new Map<string, Float32Array>();
  for (const [name, matrix] of matrices) {
    const columns = await columnsOf(device, packStored(device, typeOf(name), matrix, { format: 'f32' }));
    values.set(name, Float32Array.from(columns.flatMap((column) => [...column])));
  }
  device.destroy();
  return values;
}

const SMALL = { inline: true, contextLength: 128, prefillChunk: 16, maxRunningRequests: 1 };
const PROMPT = Array.from({ length: 40 }, (_, i) => (i * i * 31 + i * 7) % 250);

async function answer(model: TextModel) {
  const request = { prompt: { ids: PROMPT }, maxTokens: 8, temperature: 0, ignoreEos: true, logprobs: 5 };
  const tokens: { id: number; logprob: number }[] = [];
  for await (const event of model.generate(request))
    if (event.type === 'delta') tokens.push(...(event.logprobs ?? []).flatMap(({ top }) => top));
  return tokens;
}

it('log probabilities of a prompt in tiles and of single tokens agree within 1e-3', async () => {
  const [codes, wide] = await Promise.all(
    ['codes', 'f32'].map((name) => openTextModel({ model: join(root, `${name}.gguf`), ...SMALL })),
  );
  const [own, wanted] = [await answer(codes!), await answer(wide!)];
  expect(own.length).toBe(8 * 5);
  expect(own.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  own.forEach(({ logprob }, i) => expect(Math.abs(logprob - wanted[i]!.logprob)).toBeLessThan(1e-3));
  expect(codes!.info.memory.weights).toBeLessThan(wide!.info.memory.weights / 3);
  await Promise.all([codes!.close(), wide!.close()]);
}, 120_000);

it('a quantization of weights in codes is refused', async () => {
  const opened = openTextModel({ model: join(root, 'codes.gguf'), inline: true, quantization: 'int4' });
  await expect(opened).rejects.toThrow(/quantized already \(.* is Q\d_K\).*leave out/);
});
