// Quantiles of the normal distribution against a table.

import { expect, it } from 'vitest';
import { normalQuantile, normalCdf } from '../../../../src/models/text/gemma3n/normal-shares.ts';

it.each([
  [0.5, 0],
  [0.95, 1.6448536269514722],
  [0.2, -0.8416212335729143],
  [0.999, 3.090232306167813],
])('a share of %d lies below %d deviations', (share, deviations) => {
  expect(normalQuantile(share)).toBeCloseTo(deviations, 12);
  expect(normalCdf(deviations)).toBeCloseTo(share, 12);
});
