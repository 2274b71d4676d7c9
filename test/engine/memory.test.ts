// What loading costs beside the device's own bytes, in a process of its own.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { randomLlama } from './checkpoint-folder.ts';
import type { MemoryOfLoading } from './load-memory.ts';

const MiB = 2 ** 20;
const script = fileURLToPath(new URL('load-memory.ts', import.meta.url));

it.runIf(process.platform === 'linux')(
  'a model whose embedding exceeds a binding loads with little memory of its own',
  { timeout: 60_000 },
  async () => {
    // The embedding is 160 MiB, the binding limit of lavapipe 128.
    const folder = randomLlama({
      hidden: 1024,
      layers: 1,
      heads: 16,
      kvHeads: 4,
      ffn: 1024,
      vocabulary: 80 * 1024,
      context: 256,
    });
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--import',
        'tsx',
        script,
        folder.path,
      ]);
      const { before, peak, device, tokens } = JSON.parse(stdout) as MemoryOfLoading;
      expect(folder.bytes).toBeGreaterThan(160 * MiB);
      expect(device).toBeGreaterThan(folder.bytes);
      expect((peak - before - device) / MiB).toBeLessThan(256);
      expect(tokens).toHaveLength(4);
    } finally {
      folder.remove();
    }
  },
);
