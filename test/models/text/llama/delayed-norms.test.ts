// Factors of norms that come of the delay of a text behind its sound; test/engine/text/media/realtime-sounds.test.ts has their values.

import { expect, it } from 'vitest';
import { delayedNorms } from '../../../../src/models/text/llama/delayed-norms.ts';

it('norms are scaled by their factors, whose matrices have the width of config.json', () => {
  const { compute } = delayedNorms({ hidden_size: 4, delay_tokens: 0 });
  // At time 0 the cosines are 1 and the sines 0, and gelu(1) is 0.841345.
  const down = Float32Array.of(0.25, 0.75, 5, -5);
  const up = Float32Array.of(1, 0, -1, 2);
  const found = compute([Float32Array.of(1, 1, 2, 1), down, up]);
  [1.841345, 1, 0.317311, 2.68269].forEach((value, i) => expect(found[i]).toBeCloseTo(value, 5));
  for (const [weight, first, second] of [
    [3, 4, 4],
    [4, 6, 4],
    [4, 4, 8],
  ])
    expect(() => compute([weight!, first!, second!].map((length) => new Float32Array(length)))).toThrow(
      `hidden_size is 4, and the norms with ada_rms_norm have ${weight}, ${first}, ${second} values`,
    );
});
