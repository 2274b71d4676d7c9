// The engine's worker in Electron: opens one model, or lists adapters. Its first message says which, and brings the ports of the model's proxy and
// of calls, both of which lead to the main process. Everything but files is as in a page.

import { ALL_KINDS } from '../kinds/kinds.ts';
import { packedBy } from '../page/hub-models.ts';
import { browserPlatform } from '../page/platform.ts';
import type { Platform } from '../../engine/platform/platform.ts';
import type { Port } from '../../engine/platform/port.ts';
import { kindNamed, serveModel } from '../page/serve.ts';
import { startWorker } from '../page/start-worker.ts';
import { portOfEnd, type End } from '../page/thread.ts';
import { announceLife } from '../page/worker-life.ts';
import { originStorage } from '../../files/opfs/storage.ts';
import { PageStores } from '../../files/opfs/stores.ts';
import { listAdapters } from '../../gpu/browser-adapters.ts';
import { ADAPTERS, type PageMessage } from './wire.ts';
import { WorkerFiles } from './worker-files.ts';

declare const self: typeof globalThis & End;

announceLife(self);

type Start = Extract<PageMessage, { type: 'start' }>;

self.addEventListener('message', ({ data, ports }: MessageEvent<Start>) => start(data, ports), {
  once: true,
});

function start({ kind }: Start, [model, calls]: readonly MessagePort[]): void {
  const files = new WorkerFiles(portOfEnd(calls!), { adapters: listAdapters });
  if (kind !== ADAPTERS) serveModel(portOfEnd(model!), kindNamed(ALL_KINDS, kind), platformOf(files));
  calls!.start();
  model!.start();
}

function platformOf(files: WorkerFiles): Platform {
  return {
    ...browserPlatform({}, {}),
    resolveModel: (model, options) => files.resolveModel(model, options),
    openFolder: (path) => files.openFolder(path),
    folderWithin: (path, allowed) => files.folderWithin(path, allowed),
    packed: packedBy(new PageStores(originStorage()), (path, shards) => files.weightsOrigin(path, shards)),
    tokenizerThread: () => startTextWorker(files),
  };
}

/** Starts a worker for long texts and grammars, which reads files by way of this one. */
function startTextWorker(files: WorkerFiles): Port {
  const { port1, port2 } = new MessageChannel();
  files.serve(portOfEnd(port1));
  port1.start();
  const script = {
    name: 'electron-text-worker',
    base: import.meta.url,
    create: () => new Worker(new URL('./electron-text-worker.js', import.meta.url), { type: 'module' }),
  };
  return startWorker(script, null, [port2]);
}
