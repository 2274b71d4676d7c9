// Reads the version of the installed package.

import { readFileSync } from 'node:fs';

/** package.json lies three folders up, both from src/cli/process and from dist/cli/process. */
const MANIFEST = new URL('../../../package.json', import.meta.url);

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
  return version;
}
