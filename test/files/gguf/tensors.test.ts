// Tensors whose bytes are read otherwise than they are stored, in ranges that begin and end anywhere.

import { describe, expect, it } from 'vitest';
import type { GgufPart } from '../../../src/files/gguf/model.ts';
import { entryOf } from '../../../src/files/gguf/tensors.ts';
import { slicedSource } from '../../../src/files/source.ts';

const BEFORE = 64;

/** Values stored behind `BEFORE` other bytes, read as a part in ranges of `step` bytes. */
async function read(values: Float32Array | Uint16Array, type: string, part: GgufPart, step: number) {
  const bytes = new Uint8Array(BEFORE + values.byteLength);
  bytes.set(new Uint8Array(values.buffer), BEFORE);
  const source = slicedSource({ name: 'm.gguf', size: bytes.length }, async (offset, length) =>
    bytes.slice(offset, offset + length),
  );
  const stored = { name: 'v', type, shape: part.shape, offset: BEFORE, bytes: values.byteLength, source };
  const entry = entryOf(stored as never, part);
  const found = new Uint8Array(entry.bytes);
  for (let at = 0; at < found.length; at += step) {
    const length = Math.min(step, found.length - at);
    found.set(await entry.source.read(entry.offset + at, length), at);
  }
  return found.buffer;
}

describe('a tensor', () => {
  it.each([7, 12, 1000])(
    'of pixels plane by plane is read pixel by pixel, %i bytes at once',
    async (step) => {
      // Two rows of 4 pixels of 3 channels: value = row · 100 + channel · 10 + pixel.
      const stored = [0, 1].flatMap((row) =>
        [0, 1, 2].flatMap((channel) => [0, 1, 2, 3].map((pixel) => row * 100 + channel * 10 + pixel)),
      );
      const wanted = [0, 1].flatMap((row) =>
        [0, 1, 2, 3].flatMap((pixel) => [0, 1, 2].map((channel) => row * 100 + channel * 10 + pixel)),
      );
      const part = { name: 'w', shape: [2, 12], planes: 3 };
      const halves = await read(Uint16Array.from(stored), 'BF16', part, step);
      expect([...new Uint16Array(halves)]).toEqual(wanted);
      expect([...new Float32Array(await read(Float32Array.from(stored), 'F32', part, step))]).toEqual(wanted);
    },
  );

  it.each([6, 1000])('of logarithms is read as what they were made of, %i bytes at once', async (step) => {
    const values = [-20, -3, -0.1, 0, 0.5, 4, 60];
    const stored = Float32Array.from(values, (value) => Math.log1p(Math.exp(value)));
    const part = { name: 'w', shape: [values.length], isSoftplus: true };
    const found = new Float32Array(await read(stored, 'F32', part, step));
    values.forEach((value, i) => expect(found[i]).toBeCloseTo(value, 4));
  });

  it('of blocks of codes has no pixels to read', () => {
    const stored = { name: 'v', type: 'Q8_0', shape: [2, 48], bytes: 102, offset: 0, source: { name: 'm' } };
    expect(() => entryOf(stored as never, { name: 'w', shape: [2, 48], planes: 3 })).toThrow(
      /tensor v is stored as Q8_0, and patches need F32, F16 or BF16/,
    );
  });
});
