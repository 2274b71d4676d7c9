// The version of a checkpoint's shards on the disk, by which weights packed from them are found again.

import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { shardFolder } from '../../files/checkpoint/shard-folder.ts';
import type { WeightsOrigin } from '../../files/checkpoint/packed-file.ts';

export async function weightsOrigin(path: string, shards: readonly string[]): Promise<WeightsOrigin> {
  const folder = shardFolder(path, shards);
  const archived = archiveTime(folder);
  const files = await Promise.all(
    shards.toSorted().map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return [name, size, archived ?? mtimeMs];
    }),
  );
  return { folder, files };
}

/** Returns the time of the archive that holds a folder; null if none does. Electron dates files in archives by the start of the process. */
function archiveTime(folder: string): number | null {
  const archive = /^.*?\.asar(?=[\\/])/i.exec(folder)?.[0];
  if (archive === undefined) return null;
  const { noAsar } = process;
  process.noAsar = true; // the archive itself, not the folder that Electron makes of it
  try {
    return statSync(archive).mtimeMs;
  } finally {
    process.noAsar = noAsar;
  }
}
