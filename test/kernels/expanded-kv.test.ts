// Keys and values of heads in pages: every dimension of every token is where attention reads it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { KvFormat } from '../../src/kernels/batch.ts';
import { expandedKv } from '../../src/kernels/expanded-kv.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, f16Value, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const [HEADS, TOKENS] = [2, 64];

it.each<KvFormat>(['f32', 'f16'])('two pages, %s', async (format) => {
  const half = format === 'f16' ? 2 : 1;
  // 32 words of a token's keys, and of its values: tensors without padding.
  const [plain, rotated, values] = [12 * half, 4 * half, 16 * half];
  const dims = plain + rotated;
  const shape = { heads: HEADS, rank: 8, plain, rotated, values, scale: 1, pairs: 'half' } as const;
  const each = plain + values + 4; // columns of a head, the last of which are padding
  const random = new Random(3);
  const made = random.floats(TOKENS * HEADS * each);
  const turned = random.floats(TOKENS * rotated);
  const nowhere = upload(device, new Uint32Array(4));
  const pagesOf = async (part: 'keys' | 'values'): Promise<(index: number) => number> => {
    const rows = await compute({
      ...{ device, capacity: {}, sizes: {} },
      record(_, input) {
        const x = input([TOKENS, HEADS * each], made);
        const parts = { keys: { x, each, first: 0 }, values: { x, each, first: plain } };
        const kv = { table: { pages: nowhere, places: nowhere }, format };
        const range = { first: 0, count: () => TOKENS / 32 };
        return expandedKv({ ...parts, rotated: input([TOKENS, rotated], turned) }, shape, kv, range)[part];
      },
    });
    const floats = Float32Array.from(rows.flatMap((row) => [...row]));
    const words = Uint32Array.from(rows.flatMap((row) => [...new Uint32Array(row.buffer)]));
    return (index) =>
      format === 'f32' ? floats[index]! : f16Value((words[index >> 1]! >>> (16 * (index % 2))) & 0xffff);
  };
  const [keys, own] = [await pagesOf('keys'), await pagesOf('values')];
  const tolerance = format === 'f16' ? 2 ** -11 : 0;
  for (let token = 0; token < TOKENS; token++) {
    for (let head = 0; head < HEADS; head++) {
      const from = (token * HEADS + head) * each;
      const stored = (token >> 5) * HEADS + head;
      const wanted = [
        ...made.subarray(from, from + plain),
        ...turned.subarray(token * rotated, (token + 1) * rotated),
      ];
      wanted.forEach((value, d) => {
        // Keys: pairs of dimensions in f16, then tokens. Values: two tokens, four dimensions of each.
        const key =
          half === 1
            ? (stored * dims + d) * 32 + (token % 32)
            : ((stored * dims + d - (d % 2)) * 16 + (token % 32)) * 2 + (d % 2);
        expect(Math.abs(keys(key) - value)).toBeLessThanOrEqual(tolerance);
      });
      made.subarray(from + plain, from + plain + values).forEach((value, d) => {
        const quads = (stored * 16 + ((token % 32) >> 1)) * (values / 4) + (d >> 2);
        const at =
          half === 1 ? (stored * 32 + (token % 32)) * values + d : quads * 8 + (token % 2) * 4 + (d % 4);
        expect(Math.abs(own(at) - value)).toBeLessThanOrEqual(tolerance);
      });
    }
  }
});
