// Reads and writes over handles that do less than they were asked for, or fail without throwing.

import { expect, test } from 'vitest';
import { readAll, writeAll } from '../../../src/files/opfs/access-handle.ts';
import type { AccessHandle } from '../../../src/files/opfs/storage.ts';

/** A handle whose calls return `results` in turn, and then as many bytes as were asked for. */
function handleOf(results: (number | Error)[]): { handle: AccessHandle; writes: number[][] } {
  const writes: number[][] = [];
  const next = (length: number): number => {
    const result = results.shift() ?? length;
    if (typeof result !== 'number') throw result;
    return result;
  };
  const handle = {
    read: (target: Uint8Array) => next(target.length),
    write: (bytes: Uint8Array, { at }: { at: number }) => {
      writes.push([at, bytes.length]);
      return next(bytes.length);
    },
  } as unknown as AccessHandle;
  return { handle, writes };
}

const unsigned = (error: number): number => error >>> 0;

test.each([
  ['throws', Object.assign(new Error('full'), { name: 'QuotaExceededError' })],
  ['returns its error as a number of bytes, as Chromium does in private windows', unsigned(-8)],
  ['writes nothing', 0],
])('room is made when a full storage %s', async (_name, full) => {
  const { handle, writes } = handleOf([4, full]);
  let made = 0;
  await writeAll(handle, 100, new Uint8Array(10), async () => void made++);
  expect(made).toBe(1);
  expect(writes).toEqual([
    [100, 10],
    [104, 6],
    [104, 6],
  ]);
});

test('a write without room ends with the error of making room', async () => {
  const full = handleOf([unsigned(-8)]).handle;
  const refuse = async (): Promise<void> => Promise.reject(new Error('nothing to evict'));
  await expect(writeAll(full, 0, new Uint8Array(10), refuse)).rejects.toThrow('nothing to evict');
});

test('other errors that are returned as numbers of bytes are thrown', async () => {
  const failing = handleOf([unsigned(-2)]).handle;
  await expect(writeAll(failing, 0, new Uint8Array(10), async () => {})).rejects.toThrow(/error -2/);
  expect(() => readAll(handleOf([unsigned(-1)]).handle, 0, new Uint8Array(10))).toThrow(/error -1/);
});
