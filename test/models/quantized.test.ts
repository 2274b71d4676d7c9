// Checkpoints as bitsandbytes and mlx-lm write them, against transformers with the weights as those programs dequantize them: with and without
// LoRA adapters.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../src/engine/weights/weights.ts';
import { TEXT_CLASSES } from '../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../src/files/checkpoint/checkpoint.ts';
import { readSafetensors } from '../../src/files/tensors/safetensors.ts';
import { openDiskFolder, openDiskSource } from '../../src/files/disk/source-disk.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Matrix } from '../../src/kernels/matrix.ts';
import { readText } from '../../src/models/text/registry.ts';
import { openModelTestDevice } from '../gpu/test-device.ts';
import { openForward } from './forward.ts';

const TOLERANCE = 1e-3;
const GOLDEN = fileURLToPath(new URL('../golden/quantized', import.meta.url));

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const source = await openDiskSource(`${GOLDEN}.safetensors`);
const { tensors } = await readSafetensors(source);

async function bytesOf(name: string): Promise<ArrayBuffer> {
  const { offset, bytes } = tensors.get(name)!;
  return (await source.read(offset, bytes)).buffer;
}

const ids = Array.from(new BigInt64Array(await bytesOf('ids')), Number);

async function wantedLogits(name: string): Promise<Float32Array[]> {
  const values = new Float32Array(await bytesOf(name));
  const vocabulary = values.length / ids.length;
  return ids.map((_, row) => values.slice(row * vocabulary, (row + 1) * vocabulary));
}

/** Formats of a checkpoint's matrices. */
async function formatsOf(folder: string): Promise<string[]> {
  const checkpoint = await openCheckpoint(await openDiskFolder(folder), TEXT_CLASSES);
  const { generate } = readText(checkpoint.config, checkpoint.architecture);
  const found = new Set<string>();
  const weights = openWeights(device, checkpoint.tensors, (table) => (generate!(table), table), {
    format: null,
  });
  for (const handle of weights.page.handles)
    if (handle instanceof Matrix) handle.formats.forEach(({ name }) => found.add(name));
  weights.free();
  await checkpoint.close();
  return [...found].sort();
}

/** The largest difference, as a share of the largest logit of its row. */
function difference(found: readonly Float32Array[], wanted: readonly Float32Array[]): number {
  const rows = found.map((row, i) => {
    const scale = wanted[i]!.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return row.reduce((most, value, at) => Math.max(most, Math.abs(value - wanted[i]![at]!)), 0) / scale;
  });
  return Math.max(...rows);
}

/** Rows that are computed one by one, too. */
const SINGLES = 3;

const CASES = [
  ['nf4', ['f32', 'nf4_64']],
  ['fp4', ['bf16', 'fp4_32', 'fp4_64']],
  ['int8', ['f16', 'i8_32']],
  ['mlx4', ['affine4_64_bf16']],
  ['mlx8', ['affine8_32_bf16']],
  ['mlx-experts', ['affine4_32_bf16', 'affine8_64_bf16', 'bf16']],
  ['mlx-mxfp4', ['mxfp4']],
] as const;

describe('logits are those of the weights in f32', () => {
  it.each(CASES)('%s', async (name, formats) => {
    const folder = `${GOLDEN}/${name}`;
    expect(await formatsOf(folder)).toEqual(formats);
    const wanted = await wantedLogits(name);
    const forward = await openForward(device, folder);
    const found = await forward.step(ids, () => ids.length);
    forward.close();
    expect(found.length).toBe(ids.length);
    expect(difference(found, wanted)).toBeLessThan(TOLERANCE);
    const single = await openForward(device, folder, { rows: 1 });
    for (let row = 0; row < SINGLES; row++) {
      const [logits] = await single.step(ids.slice(row, row + 1), () => ids.length);
      expect(difference([logits!], [wanted[row]!])).toBeLessThan(TOLERANCE);
    }
    single.close();
  });
});

describe('logits with a LoRA adapter are those of the merged weights in f32', () => {
  it.each(['nf4', 'int8', 'mlx4', 'mlx8'])('%s', async (name) => {
    const loras = [`${GOLDEN}/${name}-lora`];
    const forward = await openForward(device, `${GOLDEN}/${name}`, { loras });
    const found = await forward.step(
      ids,
      () => ids.length,
      () => 0,
    );
    forward.close();
    expect(difference(found, await wantedLogits(`${name}-lora`))).toBeLessThan(TOLERANCE);
    expect(difference(found, await wantedLogits(name))).toBeGreaterThan(10 * TOLERANCE);
  });
});
