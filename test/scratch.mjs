// One folder for all temporary files of a run of the tests, removed at its end: files that share a process may share temporary folders too.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** vitest calls this before it starts workers, which inherit the environment. Returns what it calls at the end. */
export function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tests-'));
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
