// Attention without a window, from a position beyond a million tokens.

import { it } from 'vitest';
import { PAGE_TOKENS } from '../../src/kernels/batch.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { problem, run } from './attention-problem.ts';
import { upload } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

it('a row sees the first token', async () => {
  const device = await openTestDevice();
  const dims = 16;
  const shape = { heads: 1, kvHeads: 1, dims };
  const of = problem(device, shape, 'f32', null, [{ from: 2 * PAGE_TOKENS - 1, rows: 1 }]);
  const position = 1_000_100;
  // All pages but the first are the same.
  const [first, other] = of.tables[0]!;
  const pages = Uint32Array.from({ length: Math.ceil(position / PAGE_TOKENS) + 1 }, (_, i) =>
    i === 0 ? first! : other!,
  );
  const kv = { ...of.kv, table: { ...of.kv.table, pages: upload(device, pages) } };
  const q = of.keys[0]![0]!.map((value) => 20 * value); // has a large product with the first key alone
  const asked = { ...of, kv, q, rows: [{ sequence: 0, position }] };
  const [y] = await run(device, asked, { rows: 1, tiles: 1, tileRows: 1 });
  const wanted = of.values[0]![0]!;
  wanted.forEach((value, i) => expectCloseTo(y![i], value, 5));
  device.destroy();
});
