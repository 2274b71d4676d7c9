// The choice of a driver, and the messages if it is missing. Every other GPU test shows that a cached driver works.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { preloadCachedDriver } from '../../src/gpu/vulkan-cache.ts';

const cache = mkdtempSync(join(tmpdir(), 'svc-cache-'));
afterAll(() => rmSync(cache, { recursive: true }));
beforeEach(() => {
  vi.unstubAllEnvs();
  vi.stubEnv('XDG_CACHE_HOME', cache);
  vi.stubEnv('SVC_VULKAN_DRIVER', '');
});

const onLinux = it.runIf(process.platform === 'linux');

it('preloadCachedDriver() returns null without a cache, and when the system driver is asked for', () => {
  expect(preloadCachedDriver()).toBeNull();
  vi.stubEnv('SVC_VULKAN_DRIVER', 'system');
  expect(preloadCachedDriver()).toBeNull();
});

onLinux('says so when the driver asked for is not cached, or is no driver', () => {
  vi.stubEnv('SVC_VULKAN_DRIVER', 'swiftshader');
  expect(() => preloadCachedDriver()).toThrow(/asks for swiftshader, but .* holds no driver/);
  vi.stubEnv('SVC_VULKAN_DRIVER', 'radv');
  expect(() => preloadCachedDriver()).toThrow(/"radv", but must be lavapipe, swiftshader or system/);
});

onLinux('names the library that does not load and the folder to delete', () => {
  const folder = join(cache, 'svc-engine', 'vulkan', 'lavapipe');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ icd: 'icd.json', preload: ['libtorn.so'] }));
  writeFileSync(join(folder, 'libtorn.so'), 'not a library');
  expect(() => preloadCachedDriver()).toThrow(/libtorn\.so.*: delete .* and run set-up again/);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ unavailable: 'no such package' }));
  expect(preloadCachedDriver()).toBeNull();
});
