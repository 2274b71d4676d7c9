// Matrices that are read with further columns of zeros.

import { expect, it } from 'vitest';
import { withColumns } from '../../../src/files/checkpoint/padded-columns.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { memorySource } from '../memory-source.ts';

/** Three rows of two values, behind four other bytes. */
const stored = Uint8Array.of(9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13);
const entry: TensorEntry = {
  name: 'x_embedder.weight',
  dtype: 'F16',
  shape: [3, 2],
  source: memorySource('file', stored),
  offset: 4,
  bytes: 12,
};

it('a padded matrix reads any range of its rows with their zeros', async () => {
  const wide = withColumns(entry, 5);
  expect(wide).toMatchObject({ shape: [3, 5], offset: 0, bytes: 30 });
  const zeros = [0, 0, 0, 0, 0, 0];
  const all = [1, 2, 3, 4, ...zeros, 5, 6, 7, 8, ...zeros, 10, 11, 12, 13, ...zeros];
  expect([...(await wide.source.read(0, 30))]).toEqual(all);
  for (let from = 0; from < 30; from += 3)
    for (let end = from; end <= 30; end += 5) {
      const target = new Uint8Array(end - from).fill(77);
      await wide.source.readInto(from, target);
      expect([...target]).toEqual(all.slice(from, end));
    }
  await expect(wide.source.read(20, 11)).rejects.toThrow('asked for 11 bytes at 20');
});

it('a matrix that is as wide already is returned unchanged', () => {
  expect(withColumns(entry, 2)).toBe(entry);
});
