// The engine's worker in a page: opens one model and answers the messages of its proxy. The first message says which kind of model it is, and brings
// the files that the page gave.

import type { PostedFiles } from '../../files/page/model-source.ts';
import { destroyDevices } from '../../gpu/browser.ts';
import { EMBEDDING_MODELS } from '../embedding/kind.ts';
import { IMAGE_MODELS } from '../image/kind.ts';
import type { HubAccess } from '../page-storage-browser.ts';
import { browserPlatform } from '../platform-browser.ts';
import { TEXT_MODELS } from '../text/kind.ts';
import { ModelHost } from './model-host.ts';
import type { ModelKind, SessionOptions } from './model-kind.ts';
import type { AnyModel } from './model.ts';
import { portOfEnd, type End } from './thread-browser.ts';

/** The first message to the worker. */
export interface WorkerStart {
  /** Name of the model's kind. */
  kind: string;
  /** Files that the page gave, by the paths that stand for them in the options. */
  files: Readonly<Record<string, PostedFiles>>;
  hub: HubAccess;
}

declare const self: typeof globalThis & End;

self.addEventListener('message', ({ data }: MessageEvent<WorkerStart>) => start(data), { once: true });

function start({ kind, files, hub }: WorkerStart): void {
  if (kind === TEXT_MODELS.name) serve(TEXT_MODELS, files, hub);
  if (kind === IMAGE_MODELS.name) serve(IMAGE_MODELS, files, hub);
  if (kind === EMBEDDING_MODELS.name) serve(EMBEDDING_MODELS, files, hub);
}

function serve<Options extends SessionOptions, M extends AnyModel>(
  { calls, open }: ModelKind<Options, M>,
  files: WorkerStart['files'],
  hub: HubAccess,
): void {
  const platform = browserPlatform(files, hub);
  const host = new ModelHost<Options, M>(portOfEnd(self), {
    calls,
    open: (options, onEvent, signal) => open(platform, options, onEvent, signal),
    release: destroyDevices,
  });
  const fail = (event: ErrorEvent | PromiseRejectionEvent): void => {
    event.preventDefault();
    void host.fail('reason' in event ? event.reason : event.error);
  };
  self.addEventListener('error', fail);
  self.addEventListener('unhandledrejection', fail);
}
