// Models in the workers of a page: a worker opens one model and answers the messages of its proxy. An uncaught error of the worker ends the model.

import type { PostedFiles } from '../../files/page/model-source.ts';
import { destroyDevices } from '../../gpu/browser.ts';
import type { Platform } from '../../engine/platform/platform.ts';
import type { Port } from '../../engine/platform/port.ts';
import type { AnyKind } from '../kinds/model-kind.ts';
import { serveKind } from '../open.ts';
import type { HubAccess } from './page-storage.ts';
import { browserPlatform } from './platform.ts';
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

/** Makes a worker, given by its own scope, serve a model of one of these kinds. */
export function serveKinds(worker: End, kinds: readonly AnyKind[]): void {
  announceLife(worker);
  const start = ({ data: { kind, files, hub } }: MessageEvent<WorkerStart>): void =>
    serveModel(portOfEnd(worker), kindNamed(kinds, kind), browserPlatform(files, hub));
  worker.addEventListener('message', start, { once: true });
}

export function kindNamed(kinds: readonly AnyKind[], name: string): AnyKind {
  const kind = kinds.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`this worker serves no models of the kind ${name}`);
  return kind;
}

export function serveModel(port: Port, kind: AnyKind, platform: Platform): void {
  const host = serveKind(port, kind, platform, { release: destroyDevices });
  const fail = (event: ErrorEvent | PromiseRejectionEvent): void => {
    event.preventDefault();
    void host.fail('reason' in event ? event.reason : event.error);
  };
  self.addEventListener('error', fail);
  self.addEventListener('unhandledrejection', fail);
}
