// The part of a checkpoint's tensors that one of several devices reads.

import { expect, it } from 'vitest';
import { ownTensors } from '../../../src/engine/weights/own-tensors.ts';
import { sourceOf } from '../../../src/files/source.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { WeightTable } from '../../../src/models/weights.ts';

const HEADER = 24;

/** A tensor of the values 0, 1, 2 … as f32, behind other bytes of its file. */
function counted(name: string, shape: number[], dtype: TensorEntry['dtype'] = 'F32'): [string, TensorEntry] {
  const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => i);
  const file = new Uint8Array(HEADER + values.byteLength);
  file.set(new Uint8Array(values.buffer), HEADER);
  const source = sourceOf({ name: 'file', size: file.length }, async (offset, target) =>
    target.set(file.subarray(offset, offset + target.length)),
  );
  return [name, { name, dtype, shape, source, offset: HEADER, bytes: values.byteLength }];
}

async function valuesOf({ source, offset, bytes }: TensorEntry): Promise<number[]> {
  return [...new Float32Array((await source.read(offset, bytes)).buffer)];
}

const PART = { rank: 1, ranks: 2 };

it('equal parts of each range of rows are read, with their biases, and of each range of inputs', async () => {
  const tensors = new Map([counted('w.weight', [8, 3]), counted('w.bias', [8]), counted('o.weight', [2, 8])]);
  const table = new WeightTable(new Set(tensors.keys()), PART);
  const [{ width }, divided] = table.divide({ width: 4 }, 'width');
  divided.matrix('w.weight', 2 * width, 3, { bias: true, split: 'columns', ranges: [width, width] });
  divided.matrix('o.weight', 2, 2 * width, { split: 'rows', ranges: [width / 2, 1.5 * width] });
  const own = ownTensors(tensors, table.requests);
  expect(await valuesOf(own.get('w.bias')!)).toEqual([2, 3, 6, 7]);
  expect(await valuesOf(own.get('w.weight')!)).toEqual([6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23]);
  expect(own.get('w.weight')!.shape).toEqual([4, 3]);
  expect(await valuesOf(own.get('o.weight')!)).toEqual([1, 5, 6, 7, 9, 13, 14, 15]);
});

it('the bias of a sum is left to the first device', () => {
  const tensors = new Map([counted('o.weight', [2, 8]), counted('o.bias', [2])]);
  const table = new WeightTable(new Set(tensors.keys()), PART);
  const [, divided] = table.divide({ width: 8 }, 'width');
  const { bias, isPart } = divided.matrix('o.weight', 2, 4, { bias: true, split: 'rows' });
  expect([bias, isPart]).toEqual([null, true]);
  expect([...ownTensors(tensors, table.requests).keys()]).toEqual(['o.weight']);
});

it('blocks of codes that a division would cut are refused', () => {
  const tensors = new Map([counted('o.weight', [2, 96], 'Q4_0')]);
  const table = new WeightTable(new Set(tensors.keys()), PART);
  const [{ width }, divided] = table.divide({ width: 96 }, 'width');
  divided.matrix('o.weight', 2, width, { split: 'rows' });
  expect(() => ownTensors(tensors, table.requests)).toThrow(/blocks of 32 inputs.*`tpSize` 2/);
});
