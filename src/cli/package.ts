// Reads the version of the installed package.

import { readFileSync } from 'node:fs';

/** package.json lies two folders up, both from src/cli and from dist/cli. */
const MANIFEST = new URL('../../package.json', import.meta.url);

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
  return version;
}
