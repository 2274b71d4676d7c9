// What LoRAs change of embeddings, against the same sum in f64: rows of several LoRAs and of none, and a table of one row.

import { afterAll, beforeAll, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { NO_LORA } from '../../src/kernels/batch.ts';
import { loraEmbed } from '../../src/kernels/lora-embed.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const [LORAS, SCALE] = [3, 0.25];
const ROWS = [
  { token: 6, lora: 2 },
  { token: 0, lora: NO_LORA },
  { token: 5, lora: 0 },
  { token: 5, lora: 1 },
];

it.each([
  { tokens: 7, rank: 4, columns: 36 },
  { tokens: 1, rank: 3, columns: 132 },
])('$tokens tokens, rank $rank, $columns columns', async ({ tokens, rank, columns }) => {
  const random = new Random(columns);
  const [x0, a, b] = [ROWS.length * columns, LORAS * tokens * rank, LORAS * rank * columns].map((count) =>
    random.floats(count),
  ) as [Float32Array, Float32Array, Float32Array];
  const rows = upload(device, Uint32Array.from(ROWS.flatMap(({ token }, at) => [token, at, 0, 0])));
  const loras = upload(
    device,
    Uint32Array.from(ROWS, ({ lora }) => lora),
  );
  const factors = {
    a: device.tensor('weights', 'a', [LORAS, tokens * rank], a),
    b: device.tensor('weights', 'b', [LORAS, rank * columns], b),
  };
  const found = await compute({
    device,
    capacity: { rows: 8 },
    sizes: { rows: ROWS.length },
    adapters: loras,
    record: (_, input) => {
      const x = input(['rows', columns], x0);
      loraEmbed(x, batchOf(device, { rows }), { ...factors, tokens, rank, scale: SCALE });
      return x;
    },
  });
  ROWS.forEach(({ token, lora }, row) => {
    for (let column = 0; column < columns; column++) {
      const before = x0[row * columns + column]!;
      const at = Math.min(token, tokens - 1);
      const change = Array.from({ length: rank }, (_, r) =>
        lora === NO_LORA ? 0 : a[(lora * tokens + at) * rank + r]! * b[(lora * rank + r) * columns + column]!,
      );
      const wanted = change.reduce((sum, term) => sum + SCALE * term, before);
      expectBelow(Math.abs(found[row]![column]! - wanted), 1e-6);
    }
  });
});
