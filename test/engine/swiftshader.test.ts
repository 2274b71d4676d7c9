// The engine's tokens on a second driver, with subgroups of four and no f16. A process has one driver, so a child runs them.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { vulkanCacheFolder } from '../../src/gpu/vulkan-cache.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cached = existsSync(join(vulkanCacheFolder(), 'swiftshader', 'libvk_swiftshader.so'));
if (!cached) console.log('SwiftShader: NOT RUN');

it.runIf(cached)('qwen3 generates the same tokens on SwiftShader', { timeout: 60_000 }, () => {
  const args = [
    'run',
    '--config=scripts/vitest.config.ts',
    '--reporter=verbose',
    'test/engine/text/engine.test.ts',
  ];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', ...args, '-t', 'qwen3 32 greedy tokens'],
    { cwd: root, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1', SVC_VULKAN_DRIVER: 'swiftshader' } },
  );
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toMatch(/Tests +1 passed/);
});
