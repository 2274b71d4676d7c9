// Tensors on their way to the device: what is placed, with which values, and what ends an upload.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Factors } from '../../../src/engine/weights/factors.ts';
import { uploadAll, type UploadedChunk, type Wanted } from '../../../src/engine/weights/upload.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { sourceOf } from '../../../src/files/source.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openTestDevice } from '../../gpu/test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Tensors in f32, one behind the other in a file; values count from 1. */
function tensorsOf(...shapes: number[][]): TensorEntry[] {
  const sizes = shapes.map((shape) => shape.reduce((product, extent) => product * extent, 1));
  const count = sizes.reduce((sum, size) => sum + size, 0);
  const values = Float32Array.from({ length: count }, (_, i) => i + 1);
  const source = memorySource('tensors', new Uint8Array(values.buffer));
  let offset = 0;
  return shapes.map((shape, i) => {
    const bytes = 4 * sizes[i]!;
    offset += bytes;
    return { name: `t${i}`, dtype: 'F32', shape, source, offset: offset - bytes, bytes };
  });
}

it('a tensor without elements is not placed, and the others are, with the number of their values', async () => {
  const chunks: Record<string, Pick<UploadedChunk, 'firstRow' | 'rows' | 'values'>> = {};
  const wanted = tensorsOf([3], [0], [2, 5], [0, 3], [1, 4, 3]).map((entry): Wanted => ({
    entry,
    place: (_, { firstRow, rows, values }) => void (chunks[entry.name] = { firstRow, rows, values }),
  }));
  const checked = await uploadAll(device, wanted, () => {});
  expect(chunks).toEqual({
    t0: { firstRow: 0, rows: 1, values: 3 },
    t2: { firstRow: 0, rows: 2, values: 10 },
    t4: { firstRow: 0, rows: 4, values: 12 },
  });
  expect(checked.map(({ counts }) => counts.isZero)).toEqual([false, true, false, true, false]);
  expect(device.takeError()).toBeNull();
});

it('the factor of a LoRA that has one row of several dimensions comes in chunks, each at its place', async () => {
  const [a, b] = tensorsOf([1, 750_000, 3], [4, 1]) as [TensorEntry, TensorEntry];
  const factor = { a, b, mid: null, isTransposed: false };
  const delta = { kind: 'product', factors: [factor], scale: 1 };
  const change = { delta, scale: 1, firstRow: 0, magnitude: null };
  using factors = await Factors.read(device, [change as never]);
  for (const entry of [a, b]) {
    const { buffer, size } = factors.values(entry);
    const values = new Float32Array(await device.read({ buffer, offset: 0, size }));
    const first = entry.offset / 4 + 1;
    expect(values.subarray(0, entry.bytes / 4).findIndex((value, i) => value !== first + i)).toBe(-1);
  }
});

it.each([true, false])(
  'a device that is lost while tensors are read ends the upload; validation %s',
  async (safe) => {
    const lost = await openTestDevice({ safe });
    const [entry] = tensorsOf([8]) as [TensorEntry];
    const source = sourceOf({ name: 'tensors', size: 32 }, async () => lost.destroy());
    const place = () => expect.fail('nothing is placed');
    await expect(uploadAll(lost, [{ entry: { ...entry, source }, place }], () => {})).rejects.toThrow(
      'the device was lost while weights were read',
    );
  },
);
