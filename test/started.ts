// Processes that tests start. They run the build in dist/, which loads in a fraction of the time that the sources take.

import { fileURLToPath } from 'node:url';
import { builtUrl } from './built-hooks.mjs';

const hooks = fileURLToPath(new URL('built.mjs', import.meta.url));

/**
 * Returns the arguments with which node runs a script: a file of src/ itself, or TypeScript of the tests, whose imports from src/ then come from the
 * build. `url`: where the script lies; left out: the program follows by `-e`.
 */
export function nodeArgs(url: URL | null, ...args: string[]): string[] {
  const built = url === null ? null : builtUrl(url.href);
  if (built !== null) return [fileURLToPath(built), ...args];
  return ['--import', hooks, ...(url === null ? [] : [fileURLToPath(url)]), ...args];
}
