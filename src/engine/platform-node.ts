// The engine's surroundings in Node: Dawn's binding, the disk, the hub's cache.

import { resolveModel } from '../files/hub.ts';
import { coverImage } from '../files/image.ts';
import { packedKey, readPacked, writePacked } from '../files/quantized-cache.ts';
import { openDiskFolder } from '../files/source-disk.ts';
import { openDevice } from '../gpu/node.ts';
import type { Platform } from './platform.ts';

export const nodePlatform: Platform = {
  openDevice: ({ adapter, ...options }) =>
    openDevice({ ...options, ...(adapter === undefined ? {} : { adapter: String(adapter) }) }),
  resolveModel,
  openFolder: openDiskFolder,
  coverImage,
  packed: {
    async slot(origin) {
      const key = await packedKey(origin);
      return { read: () => readPacked(key), write: (entries) => writePacked(key, entries) };
    },
  },
  tokenizerThread: null,
};
