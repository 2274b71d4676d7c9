// The platform in Node: Dawn's binding, the disk, the hub's cache.

import { totalmem } from 'node:os';
import { decodeImage, decodeMask } from '../../files/image/image.ts';
import { packedKey, readPacked, removePacked, writePacked } from '../../files/checkpoint/quantized-cache.ts';
import { cacheFolder } from '../../files/disk/cache-folder.ts';
import { NODE_DECODERS } from '../../files/media/decoders-node.ts';
import { openFileStore } from '../../files/pages/page-store-file.ts';
import { openRedisStore } from '../../files/pages/page-store-redis.ts';
import { pageName } from '../../files/pages/stored-page.ts';
import { addTuned, readTuned } from '../../files/disk/tuned-file.ts';
import { weightsIdentity } from '../../files/checkpoint/weights-identity.ts';
import { folderWithin, openDiskFolder } from '../../files/disk/source-disk.ts';
import { openDevice } from '../../gpu/node.ts';
import { resolveModel } from './hub-models.ts';
import { MEMORY_REMEDIES } from '../memory-remedies.ts';
import type { Platform } from '../../engine/platform/platform.ts';
import { prepareDevice } from '../../engine/tuning/prepare-device.ts';

export const nodePlatform: Platform = {
  async openDevice({ adapter, ...options }) {
    const device = await openDevice({
      ...options,
      remedies: MEMORY_REMEDIES,
      ...(adapter === undefined ? {} : { adapter: String(adapter) }),
    });
    return prepareDevice(device, readTuned);
  },
  keepTuned: addTuned,
  resolveModel,
  openFolder: openDiskFolder,
  folderWithin,
  packed: {
    async slot(origin) {
      const key = await packedKey(origin);
      return {
        read: () => readPacked(key),
        write: (entries) => writePacked(key, entries),
        remove: () => removePacked(key),
      };
    },
  },
  memory: totalmem(),
  async openPageStore({ where, most, checkpoint, computed, onTrouble }) {
    const store = /^rediss?:\/\//.test(where)
      ? await openRedisStore(where, onTrouble)
      : await openFileStore(where === 'file' ? cacheFolder('pages') : where, most, onTrouble);
    const { path, shards, beside } = checkpoint;
    const weights = [await weightsIdentity(path, shards)];
    if (beside?.file) weights.push(await weightsIdentity(beside.file.path, [beside.file.name]));
    const identity = `${weights.join(' ')} ${computed}`;
    return Object.assign(store, {
      name: (before: string | null, scope: string, tokens: string) =>
        pageName(identity, before, scope, tokens),
    });
  },
  media: NODE_DECODERS,
  images: { image: decodeImage, mask: decodeMask },
  tokenizerThread: null,
};
