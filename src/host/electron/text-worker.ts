// The worker for long texts and grammars in Electron. It loads no GPU code. The first message brings a port to the engine's worker, by way of which
// it opens files.

import { portOfEnd, type End } from '../page/thread.ts';
import { announceLife } from '../page/worker-life.ts';
import { serveTextTasks } from '../../engine/text/threads/text-worker.ts';
import { WorkerFiles } from './worker-files.ts';

declare const self: typeof globalThis & End;

announceLife(self);

self.addEventListener(
  'message',
  ({ ports: [port] }: MessageEvent) => {
    const files = new WorkerFiles(portOfEnd(port!));
    port!.start();
    serveTextTasks(portOfEnd(self), (path) => files.openFolder(path));
  },
  { once: true },
);
