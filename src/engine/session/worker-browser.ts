// The engine's worker in a page: opens one model and answers the messages of its proxy. The first message says which kind of model it is, and brings
// the files that the page gave.

import type { PostedFiles } from '../../files/page/model-source.ts';
import { destroyDevices } from '../../gpu/browser.ts';
import { EMBEDDING_MODELS } from '../embedding/kind.ts';
import { IMAGE_MODELS } from '../image/kind.ts';
import { browserPlatform, type BrowserSettings } from '../platform-browser.ts';
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
  settings: BrowserSettings;
}

declare const self: typeof globalThis & End;

self.addEventListener('message', ({ data }: MessageEvent<WorkerStart>) => start(data), { once: true });

function start({ kind, files, settings }: WorkerStart): void {
  if (kind === TEXT_MODELS.name) serve(TEXT_MODELS, files, settings);
  if (kind === IMAGE_MODELS.name) serve(IMAGE_MODELS, files, settings);
  if (kind === EMBEDDING_MODELS.name) serve(EMBEDDING_MODELS, files, settings);
}

function serve<Options extends SessionOptions, M extends AnyModel>(
  { calls, open }: ModelKind<Options, M>,
  files: WorkerStart['files'],
  settings: BrowserSettings,
): void {
  const platform = browserPlatform(files, settings);
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
