// The build in Bun and Deno, on the driver that a user gets: a conversation in this thread and in the engine's own, and the server.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { findRuntime, RUNTIMES } from '../../scripts/setup/runtimes.mjs';
import { vulkanCacheFolder } from '../../src/gpu/vulkan-cache.ts';
import { build, serve } from './process.ts';

const PROGRAM = fileURLToPath(new URL('talk.mjs', import.meta.url));
const DRIVER = join(vulkanCacheFolder(), 'lavapipe');
const hasDriver = process.platform === 'linux' && existsSync(join(DRIVER, 'icd.json'));

/** The driver of the cache, in the place of the system's: set before the start, as a system's loader needs it. */
const SYSTEM_DRIVER = {
  SVC_VULKAN_DRIVER: 'system',
  LD_LIBRARY_PATH: DRIVER,
  VK_DRIVER_FILES: join(DRIVER, 'icd.json'),
  XDG_RUNTIME_DIR: tmpdir(),
};

beforeAll(build);

for (const name of ['bun', 'deno'] as const) {
  const { title, run } = RUNTIMES[name];
  const found = findRuntime(name);
  if (!('path' in found)) console.log(`${title}: NOT RUN (${found.reason})`);
  const path = 'path' in found ? found.path : '';

  const talk = (threads: string, given: Record<string, string>): string => {
    const env = { ...process.env, DENO_NO_UPDATE_CHECK: '1', ...given };
    const { stdout, stderr } = spawnSync(path, [...run, PROGRAM, threads], {
      encoding: 'utf8',
      env,
      timeout: 50_000,
    });
    expect(stdout, stderr).not.toBe('');
    return stdout;
  };

  describe.runIf('path' in found)(title, () => {
    it.each(['inline', 'worker'])('answers (%s), on the adapter that is found', (threads) => {
      expect(talk(threads, {})).toBe('Paris.\n');
    });

    it.runIf(hasDriver)("answers on a driver of the system's loader", () => {
      expect(talk('inline', SYSTEM_DRIVER)).toBe('Paris.\n');
    });

    it('serves, and leaves with 0', async () => {
      const served = await serve(['--model-path', 'models/svc-chat-mini'], { DENO_NO_UPDATE_CHECK: '1' }, [
        path,
        ...run,
      ]);
      try {
        const reply = await fetch(`${served.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'default',
            messages: [{ role: 'user', content: 'What is the capital of France?' }],
            stream: true,
            temperature: 0,
          }),
        });
        const chunks = await reply.text();
        expect([...chunks.matchAll(/"content":"([^"]*)"/g)].map(([, said]) => said).join('')).toBe('Paris.');
        expect(chunks).toMatch(/data: \[DONE\]\n+$/);
      } finally {
        served.child.kill('SIGTERM');
      }
      expect(await served.ended).toEqual([0, null]);
    });
  });
}
