// Chunks of files that are read and uploaded together: which share a batch and a read, and what the upload buffer holds afterwards.

import { expect, it } from 'vitest';
import {
  batchesOf,
  endOf,
  readBatch,
  type BufferedRange,
} from '../../../src/engine/weights/upload-batches.ts';

type Source = BufferedRange['source'] & { reads: [from: number, length: number][] };

/** Byte i of the file is i mod 251, plus one, so that none is zero. */
const byteAt = (i: number): number => (i % 251) + 1;

function fileOf(): Source {
  const reads: Source['reads'] = [];
  return {
    reads,
    async readInto(offset, target) {
      reads.push([offset, target.length]);
      target.forEach((_, i) => (target[i] = byteAt(offset + i)));
    },
  };
}

/** Bytes at the places of a batch, each with zeros up to 16 bytes. */
async function expectPlaced(batch: readonly BufferedRange[], capacity: number): Promise<void> {
  const host = new Uint8Array(capacity).fill(255);
  await readBatch(batch, host);
  for (const { from, bytes, at } of batch) {
    const checked = 16 * Math.ceil(bytes / 16);
    const wanted = Array.from({ length: checked }, (_, i) => (i < bytes ? byteAt(from + i) : 0));
    expect(Array.from(host.subarray(at, at + checked))).toEqual(wanted);
    expect(at % 256).toBe(0);
  }
  expect(endOf(batch)).toBeLessThanOrEqual(capacity);
}

it('chunks that lie beside one another come with one read, padding between them too', async () => {
  const source = fileOf();
  const sizes = [70, 256, 1, 300, 16, 512];
  let from = 40;
  // A file may align its tensors to 32 bytes.
  const chunks = sizes.map((bytes) => ({ source, from: (from += 32) - 32, bytes, end: (from += bytes) }));
  const batches = [...batchesOf(chunks, 4096)];
  expect(batches).toHaveLength(1);
  await expectPlaced(batches[0]!, 4096);
  expect(source.reads).toHaveLength(1);
});

it('chunks far apart, before others, or in another file are read by themselves', async () => {
  const [source, other] = [fileOf(), fileOf()];
  const chunks = [
    { source, from: 1000, bytes: 100 },
    { source, from: 5000, bytes: 100 },
    { source, from: 5100, bytes: 100 },
    { source, from: 5100, bytes: 50 },
    { source, from: 10, bytes: 100 },
    { source: other, from: 110, bytes: 100 },
  ];
  const [batch] = [...batchesOf(chunks, 4096)];
  await expectPlaced(batch!, 4096);
  const all = [...source.reads, ...other.reads].map(([from, length]) => `${from}+${length}`);
  expect(all).toEqual(['1000+100', '5000+200', '5100+50', '10+100', '110+100']);
});

it('a batch ends where the buffer is full, or with 512 chunks', async () => {
  const source = fileOf();
  const chunk = (from: number, bytes: number) => ({ source, from, bytes });
  const whole = [...batchesOf([chunk(0, 1024), chunk(1024, 1000), chunk(2024, 24), chunk(2048, 1024)], 1024)];
  expect(whole.map((batch) => batch.map(({ bytes, at }) => [bytes, at]))).toEqual([
    [[1024, 0]],
    [[1000, 0]],
    [[24, 0]],
    [[1024, 0]],
  ]);
  const many = [
    ...batchesOf(
      Array.from({ length: 1030 }, (_, i) => chunk(8 * i, 8)),
      2 ** 20,
    ),
  ];
  expect(many.map(({ length }) => length)).toEqual([512, 512, 6]);
  expect(many[1]![0]).toMatchObject({ from: 8 * 512, at: 0 });
  await expectPlaced(many[0]!, 2 ** 20);
});
