// Opening a model of any kind in a page: each runs in a dedicated worker.

import { postedFiles, type ModelFiles, type PostedFiles } from '../../files/page/model-source.ts';
import { withPaths, type InPage } from './given-files.ts';
import { checkHub, checkPageOptions } from './page-rules.ts';
import { askToPersist, holdStored, type HubAccess } from './page-storage.ts';
import type { SessionOptions } from '../kinds/kind-face.ts';
import type { ModelKind } from '../kinds/model-kind.ts';
import { openSleeping } from '../open.ts';
import { openProxy } from '../thread/model-proxy.ts';
import type { AnyModel } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import { refuse } from '../../engine/input/rules.ts';
import type { WorkerStart } from './serve.ts';
import { startWorker, type WorkerScript } from './start-worker.ts';

const ENGINE_WORKER: WorkerScript = {
  name: 'engine-worker',
  base: import.meta.url,
  create: () => new Worker(new URL('./engine-worker.js', import.meta.url), { type: 'module' }),
};

/** Opens a model of a kind. `script`: a worker that serves the kind. */
export async function openModel<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelKind<Options, M>,
  page: InPage<Options>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
  script: WorkerScript = ENGINE_WORKER,
): Promise<M> {
  if (typeof page !== 'object' || page === null) refuse(page, 'options', 'an object');
  const { hub = {}, ...given } = page as { hub?: HubAccess };
  checkHub(hub);
  const { options: plain, files, ids } = withPaths(given);
  const options = plain as unknown as Options;
  kind.check(options);
  checkPageOptions(plain);
  if (ids.length > 0) askToPersist();
  const model = await openSleeping(kind, options, onEvent, signal, (one, giveUp) =>
    openInWorker(kind, one, { script, files, hub, onEvent, signal: giveUp }),
  );
  // The worker of a model that may sleep holds its files only while it runs.
  if (options.sleepAfter !== undefined) await holdUntil(model, ids);
  return model;
}

/** Keeps stored models from being evicted until `model` is closed. */
async function holdUntil(model: AnyModel, ids: readonly string[]): Promise<void> {
  try {
    const releases = await Promise.all(ids.map(holdStored));
    void model.ended.then(() => releases.forEach((release) => void release()));
  } catch (error) {
    await model.close();
    throw error;
  }
}

interface WorkerOptions {
  script: WorkerScript;
  files: Readonly<Record<string, ModelFiles>>;
  hub: HubAccess;
  onEvent: ((event: OpenEvent) => void) | undefined;
  signal: AbortSignal | undefined;
}

/** Milliseconds that a worker has to release what it holds after its opening was cancelled. */
const LEAVE_TIME = 2000;

async function openInWorker<Options extends SessionOptions, M extends AnyModel>(
  { name, calls, merge }: ModelKind<Options, M>,
  options: Options,
  { script, files, hub, onEvent = () => {}, signal }: WorkerOptions,
): Promise<M> {
  const posted: Record<string, PostedFiles> = {};
  const transfer: Transferable[] = [];
  for (const [path, one] of Object.entries(files)) {
    const { posted: form, transfer: ports } = postedFiles(one);
    posted[path] = form;
    transfer.push(...ports);
  }
  const start: WorkerStart = { kind: name, files: posted, hub };
  const port = startWorker(script, start, transfer);
  const onClosed = async (): Promise<void> => port.end!();
  return openProxy<M>(port, calls, { options, onEvent, onClosed, signal, merge, leaveTime: LEAVE_TIME });
}
