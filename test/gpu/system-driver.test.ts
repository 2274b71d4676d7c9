// The system's own Vulkan driver, asked for by name. The software driver of the cache takes its place: a child finds it as a system's loader does.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { vulkanCacheFolder } from '../../src/gpu/vulkan-cache.ts';
import { nodeArgs } from '../started.ts';

const folder = join(vulkanCacheFolder(), 'lavapipe');
const icd = join(folder, 'icd.json');
const cached = existsSync(icd);
if (!cached) console.log('a system driver in the place of the cached one: NOT RUN');

const LIST = `
  const { listAdapters } = await import(${JSON.stringify(new URL('../../src/gpu/node.ts', import.meta.url).href)});
  const adapters = await listAdapters();
  process.stdout.write(adapters.map(({ description }) => description).join(), () => process.exit());`;

it.runIf(cached)('the Vulkan driver of the system is used for "system" and an empty setting', () => {
  for (const driver of ['system', '']) {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      nodeArgs(null, '--input-type=module', '-e', LIST),
      {
        encoding: 'utf8',
        env: {
          ...process.env,
          SVC_VULKAN_DRIVER: driver,
          LD_LIBRARY_PATH: folder,
          VK_DRIVER_FILES: icd,
          XDG_CACHE_HOME: join(tmpdir(), 'no-such-cache'), // what is found is not the cache's
          XDG_RUNTIME_DIR: tmpdir(),
        },
      },
    );
    expect(stdout, stderr).toMatch(/llvmpipe/i);
  }
});
