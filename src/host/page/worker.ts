// The engine's worker in a page: opens one model and answers the messages of its proxy. The first message says which kind of model it is, and brings
// the files that the page gave.

import type { PostedFiles } from '../../files/page/model-source.ts';
import { EMBEDDING_MODELS } from '../../engine/embedding/kind.ts';
import { IMAGE_MODELS } from '../../engine/image/kind.ts';
import type { HubAccess } from './page-storage.ts';
import { browserPlatform } from './platform.ts';
import { TEXT_MODELS } from '../../engine/text/kind.ts';
import { serveModel } from './serve.ts';
import { portOfEnd, type End } from './thread.ts';
import { announceLife } from './worker-life.ts';

/** The first message to the worker. */
export interface WorkerStart {
  /** Name of the model's kind. */
  kind: string;
  /** Files that the page gave, by the paths that stand for them in the options. */
  files: Readonly<Record<string, PostedFiles>>;
  hub: HubAccess;
}

declare const self: typeof globalThis & End;

announceLife(self);

self.addEventListener('message', ({ data }: MessageEvent<WorkerStart>) => start(data), { once: true });

function start({ kind, files, hub }: WorkerStart): void {
  const port = portOfEnd(self);
  const platform = browserPlatform(files, hub);
  if (kind === TEXT_MODELS.name) serveModel(port, TEXT_MODELS, platform);
  if (kind === IMAGE_MODELS.name) serveModel(port, IMAGE_MODELS, platform);
  if (kind === EMBEDDING_MODELS.name) serveModel(port, EMBEDDING_MODELS, platform);
}
