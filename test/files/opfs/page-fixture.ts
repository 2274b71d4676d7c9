// Tabs of one origin whose models come from a mock hub.

import { onTestFinished } from 'vitest';
import { hubResolver } from '../../../src/host/page/hub-models.ts';
import type { HubEvent } from '../../../src/files/hub/hub-events.ts';
import type { HubOptions, ResolvedModel } from '../../../src/files/hub/hub-resolve.ts';
import { openStored } from '../../../src/files/opfs/stored-folder.ts';
import { PageStores } from '../../../src/files/opfs/stores.ts';
import { ID, startHub, tinyModel, type MockHub } from '../hub/mock-hub.ts';
import { IMPATIENT } from '../hub/mock-hub-fixture.ts';
import { MemoryStorage, type MemoryTab } from './memory-storage.ts';

export interface Tab {
  stores: PageStores;
  events: HubEvent[];
  resolve(options?: HubOptions, model?: string): Promise<ResolvedModel>;
  /** The bytes of a file in a folder of a stored model. */
  read(path: string, name: string): Promise<Buffer>;
  /** Closes the page. */
  close(): void;
}

export interface Origin {
  hub: MockHub;
  storage: MemoryStorage;
  tab(): Tab;
}

export const FOLDER = 'svc-engine/models/acme--tiny';

export async function originFixture(files = tinyModel()): Promise<Origin> {
  const hub = await startHub(files);
  onTestFinished(() => hub.close());
  const storage = new MemoryStorage();
  return { hub, storage, tab: () => tabOf(hub, storage.tab()) };
}

function tabOf(hub: MockHub, tab: MemoryTab): Tab {
  const stores = new PageStores(tab);
  const events: HubEvent[] = [];
  const resolve = hubResolver(stores, { endpoint: hub.url, token: 'hf_page' });
  const closed = new AbortController();
  return {
    stores,
    events,
    resolve: (options = {}, model = ID) =>
      resolve(model, {
        limits: IMPATIENT,
        signal: closed.signal,
        onProgress: (event) => events.push(event),
        ...options,
      }),
    async read(path, name) {
      const source = await (await openStored(stores.models, path)).open(name);
      return Buffer.from(await source.read(0, source.size));
    },
    close() {
      tab.end();
      closed.abort();
    },
  };
}
