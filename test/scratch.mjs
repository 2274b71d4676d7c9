// One folder for all temporary files of a run of the tests, removed at its end: files that share a process may share temporary folders too.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MARK = 'TESTS_SCRATCH';

/**
 * vitest calls this for each project before it starts workers, which inherit the environment; the first call makes the folder, because
 * paths of sockets in nested ones would be too long. Returns what vitest calls at the end.
 */
export function setup() {
  if (process.env[MARK] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'svc-tests-'));
  for (const name of [MARK, 'TMPDIR', 'TEMP', 'TMP']) process.env[name] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
