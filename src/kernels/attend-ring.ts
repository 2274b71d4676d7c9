// Attention whose keys and values go around among devices: each attends to what it has while it gets that of the device before. What a range of
// keys gives is carried to the next one as within one device: sums that are not normalized, the largest score and the sum of exponentials.

import { tapeOf } from '../gpu/tape.ts';
import type { RingRanks } from '../gpu/tape-options.ts';
import type { Tensor } from '../gpu/tensor.ts';
import {
  dividedParts,
  record,
  ranges,
  workOf,
  type Attention,
  type HeadsOf,
  type Job,
} from './attend-record.ts';
import { variantOf } from './attend-variant.ts';
import { keysOf, operandsOf, packKeys } from './gather-tokens.ts';
import { fits, mostPixels } from './pixels.ts';

/** `counts`: tokens of each device of the ring; q [items, own queries, …], k and v [items, own tokens, …] → [items, own queries, heads · dims] */
export function attendInRing(
  q: HeadsOf,
  own: readonly [k: HeadsOf, v: HeadsOf],
  { rank, ranks, send }: RingRanks,
  counts: readonly number[],
  attention: Attention,
): Tensor {
  const tape = tapeOf(q.x);
  const { heads, kvHeads = heads, dims } = attention;
  if (attention.keyCounts || attention.bias || attention.placed || attention.causal)
    throw new Error('attendInRing: masks and biases of keys that other devices have');
  const [items] = q.x.shape as [number];
  const columns = kvHeads * dims;
  const queries = q.x.rows({}) / items;
  const y = tape.tensor([items, queries, heads * dims]);
  const most = Math.max(...counts);
  const shape = { queries, keys: most, heads: items * heads, dims };
  const variant = variantOf(tape, shape, { dots: 'floats', isSparse: false });
  const base = { tape, q, y, attention, dots: 'floats', blocks: null } as const;
  const atOnce = Math.min(
    mostPixels(tape, q.x),
    mostPixels(tape, y),
    tape.device.capabilities.maxWorkgroups * variant.queriesAtOnce,
  );
  const limits = { isWhole: false, most: atOnce, tile: variant.queriesAtOnce };
  const largest: Job = { ...base, k: own[0], v: own[1], all: { queries, keys: most } };
  const parts = dividedParts(largest, items, limits).map((part) => ({
    ...part,
    state: tape.tensor([part.queries[1] - part.queries[0], heads * variant.parts * 2]),
  }));
  let held: ArrayBuffer;
  let keyed = own;
  for (let turn = 0; turn < ranks; turn++) {
    const since = tape.dispatchCount;
    const [k, v] = keyed;
    const keys = counts[(rank + ranks - turn) % ranks]!;
    const fit = [k.x, v.x].every((x) => fits(tape, x));
    const mostKeys = fit ? keys : Math.min(mostPixels(tape, k.x), mostPixels(tape, v.x));
    const job: Job & { variant: typeof variant } = { ...base, variant, k, v, all: { queries, keys } };
    for (const { state, ...part } of parts) {
      for (const window of ranges(keys, mostKeys))
        record(job, { ...part, keys: window, isFirst: turn === 0, isLast: turn === ranks - 1 }, state);
      if (workOf(job) < Infinity && parts.length > 1) tape.cut();
    }
    if (turn === ranks - 1) break;
    const next = tape.tensor([items, counts[(rank + ranks - turn - 1) % ranks]!, 2 * columns]);
    const first = turn === 0 ? operandsOf(...own) : [];
    const bring = async (...bytes: ArrayBuffer[]): Promise<readonly ArrayBuffer[]> => {
      const given = turn === 0 ? packKeys({ k: own[0], v: own[1], columns }, bytes, next.stride) : held;
      return [(held = await send(given))];
    };
    tape.meet({ from: first, into: [next], exchange: bring }, since);
    keyed = keysOf(next, columns);
  }
  return y;
}
