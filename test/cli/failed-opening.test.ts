// A process whose model cannot be opened ends as soon as it has printed the reason, without waiting for the engine's thread.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { nodeArgs } from '../started.ts';

const script = (path: string): URL => new URL(path, import.meta.url);
const MAIN = script('../../src/cli/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'svc-empty-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Milliseconds between the message and the end; waiting for a thread that no longer answers would take 5,000. */
const LIMIT = 4000;

it.each([
  ['svc serve', 3, nodeArgs(MAIN, 'serve', '--port', '0', '--model-path', folder)],
  ['svc chat', 3, nodeArgs(MAIN, 'chat', folder)],
  ['svc generate', 3, nodeArgs(MAIN, 'generate', '--model-path', folder, '--prompt', 'x')],
  ['a program', 0, nodeArgs(script('../engine/open-nothing.ts'), folder)],
])('the command %s ends at once where opening fails', { timeout: 60_000 }, async (_, code, args) => {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  let saidAt = 0;
  child.stderr.on('data', (bytes) => {
    said += String(bytes);
    saidAt = performance.now();
  });
  expect(await once(child, 'close'), said).toEqual([code, null]);
  expect(said).toMatch(/config\.json|model_index\.json|model_not_found|bad_checkpoint/);
  expect(performance.now() - saidAt).toBeLessThan(LIMIT);
});
