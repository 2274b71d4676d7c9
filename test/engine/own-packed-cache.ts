// A cache of packed weights in a folder of its own, so that a test sees and changes its files.

import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { PackedCache } from '../../src/engine/platform/platform.ts';
import {
  packedKey,
  readPacked,
  removePacked,
  writePacked,
} from '../../src/files/checkpoint/quantized-cache.ts';

export interface OwnPackedCache extends PackedCache {
  /** Paths of its files. */
  files(): string[];
}

export function ownPackedCache(): OwnPackedCache {
  const folder = mkdtempSync(join(tmpdir(), 'svc-packed-'));
  return {
    files: () => readdirSync(folder).map((name) => join(folder, name)),
    async slot(origin) {
      const { file, identity } = await packedKey(origin);
      const key = { file: join(folder, basename(file)), identity };
      return {
        read: () => readPacked(key),
        write: (entries) => writePacked(key, entries),
        remove: () => removePacked(key),
      };
    },
  };
}
