// The engine in a page: each model runs in a dedicated worker.

import { type Prose, noteOf, say } from '../../files/message.ts';
import { postedFiles, type ModelFiles, type PostedFiles } from '../../files/page/model-source.ts';
import { listAdapters } from '../../gpu/browser-adapters.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import { EMBEDDING_FACE } from '../kinds/embedding.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import { IMAGE_FACE } from '../kinds/image.ts';
import { withPaths, type FileOptions } from './given-files.ts';
import { checkHub, checkPageOptions } from './page-rules.ts';
import { askToPersist, holdStored, type HubAccess } from './page-storage.ts';
import type { ModelFace, SessionOptions } from '../kinds/model-kind.ts';
import { openProxy } from '../thread/model-proxy.ts';
import type { AnyModel } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import { refuse } from '../../engine/input/rules.ts';
import { letSleep } from '../session/sleeping-model.ts';
import { startWorker } from './start-worker.ts';
import type { WorkerStart } from './worker.ts';
import { modelName } from '../../engine/opening/model-name.ts';
import { TEXT_FACE } from '../kinds/text.ts';
import type { TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';

/** Options of a model in a page: a model, an adapter or a component may also be its files, and `hub` says where ids are looked up. */
export type InPage<Options extends { model: string }> = Omit<
  Options,
  'model' | 'inline' | keyof FileOptions
> &
  Pick<FileOptions, keyof FileOptions & keyof Options> & {
    /** Hub id, or the files of the model. */
    model: string | ModelFiles;
    hub?: HubAccess;
  };

/**
 * Opens a language model in a worker of this page. Errors as in Node; no_adapter also where the browser has no WebGPU; unsupported for
 * options that exist in Node only, and where the worker cannot be started; network where its script cannot be loaded.
 */
export function openTextModel(
  options: InPage<TextModelOptions>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<TextModel> {
  return openModel(TEXT_FACE, options, onEvent, signal);
}

/** Opens a diffusion pipeline in a worker of this page. Errors: those of openTextModel. */
export function openImageModel(
  options: InPage<ImageModelOptions>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<ImageModel> {
  return openModel(IMAGE_FACE, options, onEvent, signal);
}

/** Opens an embedding model in a worker of this page. Errors: those of openTextModel. */
export function openEmbeddingModel(
  options: InPage<EmbeddingModelOptions>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  return openModel(EMBEDDING_FACE, options, onEvent, signal);
}

/** Lists the adapters that the browser offers, best first. Throws no_adapter. */
export function adapters(): Promise<AdapterSummary[]> {
  return listAdapters();
}

async function openModel<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelFace<Options, M>,
  page: InPage<Options>,
  onEvent: ((event: OpenEvent) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<M> {
  if (typeof page !== 'object' || page === null) refuse(page, 'options', 'an object');
  const { hub = {}, ...given } = page as { hub?: HubAccess };
  checkHub(hub);
  const { options: plain, files, ids } = withPaths(given);
  const options = plain as unknown as Options;
  kind.check(options);
  checkPageOptions(plain);
  if (ids.length > 0) askToPersist();
  const open = (giveUp?: AbortSignal): Promise<M> =>
    openInWorker(kind, options, { files, hub, onEvent, signal: giveUp });
  const model = await open(signal);
  const { sleepAfter: after } = options;
  if (after === undefined) return model;
  const note = (message: Prose): void => onEvent?.(noteOf(say`${modelName(options.model)}: ${message}`));
  const sleeping = letSleep(model, { after, open, note, calls: kind.calls, ...kind.sleep(model, options) });
  await holdUntil(sleeping, ids);
  return sleeping;
}

/** Keeps stored models from being evicted until `model` is closed: its worker does so only while it runs. */
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
  files: Readonly<Record<string, ModelFiles>>;
  hub: HubAccess;
  onEvent: ((event: OpenEvent) => void) | undefined;
  signal: AbortSignal | undefined;
}

/** Milliseconds that a worker has to release what it holds after its opening was cancelled. */
const LEAVE_TIME = 2000;

async function openInWorker<Options extends SessionOptions, M extends AnyModel>(
  { name, calls, merge }: ModelFace<Options, M>,
  options: Options,
  { files, hub, onEvent = () => {}, signal }: WorkerOptions,
): Promise<M> {
  const posted: Record<string, PostedFiles> = {};
  const transfer: Transferable[] = [];
  for (const [path, one] of Object.entries(files)) {
    const { posted: form, transfer: ports } = postedFiles(one);
    posted[path] = form;
    transfer.push(...ports);
  }
  const start: WorkerStart = { kind: name, files: posted, hub };
  const port = startWorker(
    {
      name: 'engine-worker',
      base: import.meta.url,
      create: () => new Worker(new URL('./engine-worker.js', import.meta.url), { type: 'module' }),
    },
    start,
    transfer,
  );
  const onClosed = async (): Promise<void> => port.end!();
  return openProxy<M>(port, calls, { options, onEvent, onClosed, signal, merge, leaveTime: LEAVE_TIME });
}
