// The command-line options for fetching media, as the server takes them.

import { realpathSync, statSync } from 'node:fs';
import { MEDIA_FETCHING } from '../../options/media.ts';
import type { ServerOptions } from '../../server/entry.ts';
import { UsageError } from '../process/exit.ts';
import type { Values } from '../options/option.ts';
import { optionsOf, settingsGiven } from '../options/setting-options.ts';

export const MEDIA_OPTIONS = optionsOf(MEDIA_FETCHING);

const KINDS = ['image', 'video', 'audio'];

/** Throws UsageError for limits of unknown kinds, and for a folder that is not there. */
export function toMediaRules(
  options: Partial<Values<typeof MEDIA_OPTIONS>>,
): NonNullable<ServerOptions['media']> {
  const given = settingsGiven(MEDIA_FETCHING, options);
  checkLimits(given.limitMmDataPerRequest ?? {});
  const { allowedMediaPath: folder } = given;
  if (folder !== undefined && !isFolder(folder))
    throw new UsageError(`--allowed-media-path ${folder} is not a folder: give one that is there`);
  return { ...given, ...(folder !== undefined && { allowedMediaPath: realpathSync(folder) }) };
}

function checkLimits(limits: Readonly<Record<string, unknown>>): void {
  for (const [kind, most] of Object.entries(limits)) {
    if (KINDS.includes(kind) && Number.isSafeInteger(most) && (most as number) >= 0) continue;
    throw new UsageError(
      `--limit-mm-data-per-request has ${JSON.stringify({ [kind]: most })}: give a whole number for ${KINDS.join(', ')}, as {"image": 4}`,
    );
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
