// Everything that the engine keeps in the private file system of a page's origin, below one folder.

import { OpfsCache } from './opfs-cache.ts';
import { OpfsPacked } from './opfs-packed.ts';
import { OpfsTuned } from './opfs-tuned.ts';
import { StorageRoom } from './room.ts';
import { PrivateFolder, type OriginStorage } from './storage.ts';
import { StorageUse } from './use.ts';

const ROOT = 'svc-engine';

export class PageStores {
  readonly use: StorageUse;
  readonly models: OpfsCache;
  readonly packed: OpfsPacked;
  readonly tuned: OpfsTuned;

  constructor(storage: OriginStorage) {
    const root = new PrivateFolder(storage, [ROOT]);
    this.use = new StorageUse(storage, root);
    const room = new StorageRoom(storage, this.use, async () => [
      ...(await this.packed.evictables()),
      ...(await this.models.evictables()),
    ]);
    this.models = new OpfsCache(storage, root.folder('models'), room);
    this.packed = new OpfsPacked(root.folder('packed'), this.use, room);
    this.tuned = new OpfsTuned(storage, root.folder('tuned'));
  }
}
