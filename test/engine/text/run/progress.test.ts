// Counts of tokens, against a map.

import { expect, it } from 'vitest';
import { TokenCounts } from '../../../../src/engine/text/speculation/token-counts.ts';
import { randomInteger } from '../../random.ts';

it.each([1, 5, 300])('token counts of tokens below %i equal those of a map', (below) => {
  const random = randomInteger(below);
  const counts = new TokenCounts();
  const wanted = new Map<number, number>();
  for (let step = 0; step < 1000; step++) {
    const token = random(below);
    counts.add(token);
    wanted.set(token, (wanted.get(token) ?? 0) + 1);
    if (step % 97 === 0) expect([...counts.pairs]).toEqual([...wanted].sort(([a], [b]) => a - b).flat());
  }
});
