// Memory that loading takes in addition to the device's bytes, measured in a separate process.

import { expect, it } from 'vitest';
import { measureLoading } from './load-measured.ts';

const MiB = 2 ** 20;

it.runIf(process.platform === 'linux')(
  'a model whose embedding exceeds a binding loads with little host memory',
  { timeout: 60_000 },
  () => {
    // The embedding is 160 MiB, the binding limit of lavapipe 128.
    const { stored, device, extra, tokens } = measureLoading({
      hidden: 1024,
      layers: 1,
      heads: 16,
      kvHeads: 4,
      ffn: 1024,
      vocabulary: 80 * 1024,
      context: 256,
    });
    expect(stored).toBeGreaterThan(160 * MiB);
    expect(device).toBeGreaterThan(stored);
    expect(extra / MiB).toBeLessThan(256);
    expect(tokens).toHaveLength(4);
  },
);
