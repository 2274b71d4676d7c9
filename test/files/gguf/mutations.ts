// Damaged copies of a file: flipped bits, other bytes, larger numbers, pieces that are missing, doubled or exchanged. Seeded, so that a
// failure can be repeated.

import { randomInteger } from '../../engine/random.ts';

export function* mutations(
  original: Uint8Array,
  count: number,
  span = original.length,
): Generator<Uint8Array> {
  const below = randomInteger(15);
  for (let i = 0; i < count; i++) {
    let bytes = original.slice();
    for (let n = 0; n <= i % 3; n++) {
      const at = below(Math.min(span, bytes.length));
      const other = below(bytes.length);
      const length = 1 + below(24);
      switch (below(6)) {
        case 0:
          bytes[at] = bytes[at]! ^ (1 << below(8));
          break;
        case 1:
          bytes[at] = below(256);
          break;
        case 2:
          bytes.fill(0xff, at, at + below(9));
          break;
        case 3:
          bytes = bytes.slice(0, at);
          break;
        case 4:
          bytes = new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(at + length)]);
          break;
        default:
          bytes.copyWithin(at, other, other + length);
      }
      if (bytes.length === 0) break;
    }
    yield bytes;
  }
}
