// Keys and values that a kernel wrote to pages.

import type { Device } from '../../src/gpu/device.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { PAGE_TOKENS, type HeadShape, type KvFormat, type PageTable } from '../../src/kernels/batch.ts';
import { f16Value, POISON, upload } from './compute.ts';

/** Page table of a step whose rows are written to these places. */
export function tableOf(on: Device, places: readonly number[]): PageTable {
  const region = upload(on, Uint32Array.from(places));
  return { pages: region, places: region };
}

interface Pages {
  /** Returns undefined if nothing was written. */
  key(place: number, head: number, d: number): number | undefined;
  value(place: number, head: number, d: number): number | undefined;
}

/** Reads pages by the layouts that shaders/kv documents. */
export async function readPages(
  on: Device,
  keys: Region,
  values: Region,
  format: KvFormat,
  { kvHeads, dims }: HeadShape,
): Promise<Pages> {
  const [k, v] = await Promise.all([keys, values].map(async (held) => new Uint32Array(await on.read(held))));
  const perHead = (PAGE_TOKENS * dims) / (format === 'f16' ? 2 : 1);
  const at = (words: Uint32Array, index: number, half: number): number | undefined => {
    const word = words[index]!;
    if (word === POISON) return undefined;
    return format === 'f16'
      ? f16Value((word >>> (16 * half)) & 0xffff)
      : new Float32Array(Uint32Array.of(word).buffer)[0];
  };
  const start = (place: number, head: number) => (Math.floor(place / PAGE_TOKENS) * kvHeads + head) * perHead;
  return {
    key: (place, head, d) =>
      format === 'f16'
        ? at(k!, start(place, head) + (d >> 1) * PAGE_TOKENS + (place % PAGE_TOKENS), d & 1)
        : at(k!, start(place, head) + d * PAGE_TOKENS + (place % PAGE_TOKENS), 0),
    value: (place, head, d) => {
      const token = place % PAGE_TOKENS;
      if (format === 'f32') return at(v!, start(place, head) + token * dims + d, 0);
      const quad = (token >> 1) * (dims / 4) + (d >> 2);
      return at(v!, start(place, head) + 4 * quad + 2 * (token & 1) + ((d & 3) >> 1), d & 1);
    },
  };
}
