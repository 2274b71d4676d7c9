// Memory of the host that is free for weights: within a control group, what its limit leaves beside pages of files.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CPU, hostBudget, PROFILES } from '../../src/gpu/adapter-profile.ts';
import { freeHostMemory, readUsage } from '../../src/gpu/free-memory.ts';

function group(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-group-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

it.each<[string, Record<string, string>, number | null]>([
  ['version 2', { 'memory.current': '10000\n', 'memory.stat': 'anon 3000\nfile 7000\nshmem 500\n' }, 3500],
  [
    'version 1',
    {
      'memory.usage_in_bytes': '10000\n',
      'memory.stat': 'cache 1\ntotal_cache 6000\ntotal_shmem 0\n',
    },
    4000,
  ],
  ['no group', {}, null],
])('free memory includes the page cache, and not files in memory: %s', (_, files, used) => {
  expect(readUsage(group(files))).toBe(used);
});

it('free memory is at most what the system has', () => {
  const free = freeHostMemory();
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(totalmem());
  if (process.platform === 'linux') expect(free).toBeLessThan(1.5 * freemem());
});

it('free memory is divided between a device without memory of its own and weights beside it', () => {
  const discrete = PROFILES.find(({ memory }) => memory.freeShare === 0)!;
  expect(hostBudget(discrete, 16e9, 8e9)).toBe(12e9);
  expect(hostBudget(CPU, 16e9, 8e9)).toBe(4e9);
  expect(hostBudget(CPU, 16e9, 64e9)).toBe(0);
});
