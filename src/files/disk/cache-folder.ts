// Folder on disk for data that the engine can compute again.

import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

export function cacheFolder(name: string): string {
  const configured = process.env['XDG_CACHE_HOME'];
  const cache = configured !== undefined && isAbsolute(configured) ? configured : join(homedir(), '.cache');
  return join(cache, 'svc-engine', name);
}
