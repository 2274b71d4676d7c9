// Identity of weights, computed from their bytes and independent of their path. Reading all bytes takes a while, so the result is
// cached beside the packed weights, for files that have not changed since.

import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shardFolder } from './shard-folder.ts';
import { cacheFolder } from '../disk/cache-folder.ts';

const CHUNK = 8 << 20;

/** SHA-256 of the shards' bytes, in order of their names. */
export async function weightsIdentity(path: string, shards: readonly string[]): Promise<string> {
  const folder = shardFolder(path, shards);
  const files = await Promise.all(
    shards.toSorted().map(async (name) => {
      const { size, mtimeMs, ino } = await stat(join(folder, name));
      return [name, size, mtimeMs, ino];
    }),
  );
  const state = createHash('sha256').update(JSON.stringify({ folder, files })).digest('hex');
  const known = join(cacheFolder('weights'), state);
  const kept = await readFile(known, 'latin1').catch(() => '');
  if (/^[0-9a-f]{64}$/.test(kept)) return kept;
  const hash = createHash('sha256');
  for (const name of shards.toSorted()) {
    hash.update(`${name}\0`);
    for await (const chunk of createReadStream(join(folder, name), { highWaterMark: CHUNK }))
      hash.update(chunk as Buffer);
  }
  const identity = hash.digest('hex');
  await keep(known, identity).catch(() => {}); // if caching fails, the weights are read again next time
  return identity;
}

async function keep(file: string, identity: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  await writeFile(temporary, identity);
  await rename(temporary, file);
}
