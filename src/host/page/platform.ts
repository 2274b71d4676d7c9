// The platform in a page's worker: navigator.gpu, files that the page gave, the browser's storage.

import { decodeImage, decodeMask } from '../../files/page/image.ts';
import { originStorage } from '../../files/opfs/storage.ts';
import { PageStores } from '../../files/opfs/stores.ts';
import { PAGE_DECODERS } from '../../files/page/decoders.ts';
import { openDevice } from '../../gpu/browser.ts';
import { MEMORY_REMEDIES } from '../memory-remedies.ts';
import { PageFolders, type GivenFiles } from './folders.ts';
import { hubResolver, packedCache } from './hub-models.ts';
import type { HubAccess } from './page-storage.ts';
import type { Platform } from '../../engine/platform/platform.ts';
import { prepareDevice } from '../../engine/tuning/prepare-device.ts';
import { tokenizerStarter } from './tokenizer.ts';

export function browserPlatform(files: GivenFiles, hub: HubAccess): Platform {
  const stores = new PageStores(originStorage());
  const folders = new PageFolders(files, stores.models);
  const resolve = hubResolver(stores, hub);
  return {
    async openDevice({ adapter, memoryBudget, deterministic, activationDtype, place }) {
      const device = await openDevice({
        remedies: MEMORY_REMEDIES,
        ...(memoryBudget === undefined ? {} : { memoryBudget }),
        ...(adapter === undefined ? {} : { adapter: String(adapter) }),
        ...(place && { place }),
        ...(deterministic === undefined ? {} : { deterministic }),
        ...(activationDtype === undefined ? {} : { activationDtype }),
      });
      return prepareDevice(device, (adapter) => stores.tuned.read(adapter));
    },
    keepTuned: (adapter, tuned) => stores.tuned.add(adapter, tuned),
    resolveModel: async (model, options) =>
      folders.finds(model) ? { path: model } : resolve(model, options),
    // A path that stands for nothing is the id of an adapter, or of weights.
    openFolder: async (path) => folders.open(folders.finds(path) ? path : (await resolve(path, {})).path),
    folderWithin: async (path) => (folders.has(path) ? { path } : 'missing'),
    packed: packedCache(stores, files),
    memory: Infinity,
    openPageStore: null,
    media: PAGE_DECODERS,
    images: { image: decodeImage, mask: decodeMask },
    tokenizerThread: tokenizerStarter(folders),
  };
}
