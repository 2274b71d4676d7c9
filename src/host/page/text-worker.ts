// The worker for long texts and grammars in a page. It loads no GPU code, so that a terminated worker is replaced within a fraction of a
// second. The first message brings the files that the page gave.

import { originStorage } from '../../files/opfs/storage.ts';
import { PageStores } from '../../files/opfs/stores.ts';
import { PageFolders, type GivenFiles } from './folders.ts';
import { portOfEnd, type End } from './thread.ts';
import { announceLife } from './worker-life.ts';
import { serveTextTasks } from '../../engine/text/threads/text-worker.ts';

/** The first message to the worker. */
export interface TextWorkerStart {
  files: GivenFiles;
}

declare const self: typeof globalThis & End;

announceLife(self);

self.addEventListener(
  'message',
  ({ data: { files } }: MessageEvent<TextWorkerStart>) => {
    const folders = new PageFolders(files, new PageStores(originStorage()).models);
    serveTextTasks(portOfEnd(self), (path) => folders.open(path));
  },
  { once: true },
);
