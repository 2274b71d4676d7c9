// FLAC files of frames that are made here: all of a whole file is read, and damage anywhere is found.

import { describe, expect, it, vi } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { flacFrames } from '../../../src/files/media/flac-frames.ts';
import { readSound } from '../../../src/files/media/read-sound.ts';
import { soundPieces } from '../../../src/files/media/sound-pieces.ts';

const RATE = 16_000;
const read = (file: Uint8Array) => readSound(file, 'sound', { bounds: { maxMediaSeconds: 60 }, rate: RATE });

async function refusal(file: Uint8Array): Promise<EngineError> {
  const error = await read(file).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  return error as EngineError;
}

it('the FLAC reader reads all of a file of tiny frames, whose headers may stand anywhere', async () => {
  const [frames, block] = [2000, 256];
  const sound = await read(flacOfSilence(frames, block));
  expect(sound.samples.length).toBe(frames * block);
});

/** Remainder of bytes by a polynomial of `bits` bits. */
function remainder(bytes: readonly number[], bits: 8 | 16, polynomial: number): number {
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << (bits - 8);
    for (let i = 0; i < 8; i++) value = (value << 1) ^ ((value >> (bits - 1)) & 1 ? polynomial : 0);
    value &= 2 ** bits - 1;
  }
  return value;
}

/** Frames of one constant each, at the rate of the tests. */
function flacOfSilence(frames: number, block: number, stated = frames * block, subframe = 0): Uint8Array {
  const head = new DataView(new ArrayBuffer(42));
  [0x664c6143, 0x80000022].forEach((word, i) => head.setUint32(4 * i, word));
  [block, block].forEach((size, i) => head.setUint16(8 + 2 * i, size));
  head.setUint32(18, (RATE << 12) | 0xf0); // one channel of 16 bits
  head.setUint32(22, stated);
  const all = Array.from({ length: frames }, (_, i) => {
    const number = i < 0x80 ? [i] : i < 0x800 ? [0xc0 | (i >> 6), 0x80 | (i & 63)] : [];
    const start = [0xff, 0xf8, 0x75, 0x08, ...number, (block - 1) >> 8, (block - 1) & 255];
    const frame = [...start, remainder(start, 8, 0x07), subframe, 0, 0];
    const sum = remainder(frame, 16, 0x8005);
    return [...frame, sum >> 8, sum & 255];
  });
  return Uint8Array.from([...new Uint8Array(head.buffer), ...all.flat()]);
}

describe('damage within a FLAC file', () => {
  const [frames, block] = [300, 1000];
  /** Of the head, of a frame with a number of one byte, and of one with a number of two. */
  const [head, short, long] = [42, 13, 14];
  const middle = head + 128 * short + 50 * long;

  it.each<[string, (file: Uint8Array) => Uint8Array]>([
    ['a sample', (file) => file.with(middle + 10, 1)],
    ['the header of a frame', (file) => file.with(middle + 2, 0x74)],
    ['zeros', (file) => file.fill(0, middle, middle + 100)],
    [
      'a part that is missing',
      (file) => Buffer.concat([file.subarray(0, middle + 5), file.subarray(middle + 99)]),
    ],
    ['an end that is missing', (file) => file.subarray(0, -3)],
  ])('is refused, whether the file states its length or not: %s', async (_, damage) => {
    const log = vi.spyOn(console, 'error').mockReturnValue();
    try {
      for (const stated of [0, frames * block]) {
        expect((await read(flacOfSilence(frames, block, stated))).samples.length).toBe(frames * block);
        const { code, message } = await refusal(damage(flacOfSilence(frames, block, stated)));
        expect(code).toBe('bad_request');
        expect(message).toMatch(/its frame at byte \d+ is not whole.*damaged or cut off/);
      }
      expect(log).not.toHaveBeenCalled();
    } finally {
      log.mockRestore();
    }
  });

  it('is refused without a word of the decoder, if checksums are right', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue();
    try {
      // Codes of subframes that are reserved.
      const { message } = await refusal(flacOfSilence(20, block, 0, 0x04));
      expect(message).toMatch(/damaged or cut off/);
      expect(log).not.toHaveBeenCalled();
    } finally {
      log.mockRestore();
    }
  });

  it('is found in one pass', () => {
    let bytes = 0;
    const file = new Proxy(flacOfSilence(frames, block).with(head + 10, 1), {
      get(target, key) {
        if (typeof key === 'string' && /^\d+$/.test(key)) bytes++;
        return target[key as keyof Uint8Array];
      },
    });
    expect(() => [...flacFrames(file)]).toThrow(`its frame at byte ${head} is not whole`);
    expect(bytes).toBeLessThan(8 * file.length);
  });
});

it('the FLAC reader decodes few samples at once, however small the frames are', async () => {
  let length = 0;
  for await (const { channels } of soundPieces(flacOfSilence(200, 60_000), 'FLAC')!) {
    const samples = channels[0]?.length ?? 0;
    expect(samples).toBeLessThanOrEqual(3 * 60_000);
    length += samples;
  }
  expect(length).toBe(200 * 60_000);
});
