// The engine in a page: each model runs in a dedicated worker.

import { type Prose, noteOf, say } from '../files/message.ts';
import { postedFiles, type ModelFiles, type PostedFiles } from '../files/page/model-source.ts';
import { listAdapters } from '../gpu/browser.ts';
import type { AdapterSummary } from '../gpu/adapter.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from './embedding/embedding-model.ts';
import { EMBEDDING_MODELS } from './embedding/kind.ts';
import type { ImageModel, ImageModelOptions } from './image/image-model.ts';
import { IMAGE_MODELS } from './image/kind.ts';
import { GIVEN } from './folders-browser.ts';
import type { BrowserSettings } from './platform-browser.ts';
import type { ModelKind, SessionOptions } from './session/model-kind.ts';
import { openProxy } from './session/model-proxy.ts';
import type { AnyModel } from './session/model.ts';
import type { OpenEvent } from './session/open-event.ts';
import { letSleep } from './session/sleeping-model.ts';
import { portOfWorker } from './session/thread-browser.ts';
import type { WorkerStart } from './session/worker-browser.ts';
import { modelName } from './text/defaults.ts';
import { TEXT_MODELS } from './text/kind.ts';
import type { TextModel, TextModelOptions } from './text/text-model.ts';

/** Options of a model in a page: `model` may also be its files, and `hub` says where ids are looked up. */
export type InPage<Options extends { model: string }> = Omit<Options, 'model' | 'inline'> & {
  /** Hub id, or the files of the model. */
  model: string | ModelFiles;
  hub?: BrowserSettings;
};

/** Opens a language model in a worker of this page. Errors as in Node; no_adapter also where the page has no WebGPU. */
export function openTextModel(
  options: InPage<TextModelOptions>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<TextModel> {
  return openModel(TEXT_MODELS, options, onEvent, signal);
}

/** Opens a diffusion pipeline in a worker of this page. Errors: those of openTextModel. */
export function openImageModel(
  options: InPage<ImageModelOptions>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<ImageModel> {
  return openModel(IMAGE_MODELS, options, onEvent, signal);
}

/** Opens an embedding model in a worker of this page. Errors: those of openTextModel. */
export function openEmbeddingModel(
  options: InPage<EmbeddingModelOptions>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  return openModel(EMBEDDING_MODELS, options, onEvent, signal);
}

/** Lists the adapters that the browser offers, best first. Throws no_adapter. */
export function adapters(): Promise<AdapterSummary[]> {
  return listAdapters();
}

async function openModel<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelKind<Options, M>,
  { hub = {}, ...given }: InPage<Options>,
  onEvent: ((event: OpenEvent) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<M> {
  const files: Record<string, ModelFiles> = {};
  let { model } = given as { model: string | ModelFiles };
  if (typeof model !== 'string') {
    const path = `${GIVEN}${nameOf(model)}`;
    files[path] = model;
    model = path;
  }
  const options = { ...given, model } as unknown as Options;
  kind.check(options);
  const open = (giveUp?: AbortSignal): Promise<M> =>
    openInWorker(kind, options, { files, settings: hub, onEvent, signal: giveUp });
  const opened = await open(signal);
  const { sleepAfter: after } = options;
  if (after === undefined) return opened;
  const note = (message: Prose): void => onEvent?.(noteOf(say`${modelName(options.model)}: ${message}`));
  return letSleep(opened, { after, open, note, calls: kind.calls, ...kind.sleep(opened, options) });
}

function nameOf(files: ModelFiles): string {
  if (!Array.isArray(files)) return (files as FileSystemDirectoryHandle).name;
  const [first] = files as readonly { name: string; webkitRelativePath?: string }[];
  const path = first?.webkitRelativePath || first?.name || 'files';
  return path.split('/')[0]!;
}

interface WorkerOptions {
  files: Readonly<Record<string, ModelFiles>>;
  settings: BrowserSettings;
  onEvent: ((event: OpenEvent) => void) | undefined;
  signal: AbortSignal | undefined;
}

function openInWorker<Options extends SessionOptions, M extends AnyModel>(
  { name, calls, merge }: ModelKind<Options, M>,
  options: Options,
  { files, settings, onEvent = () => {}, signal }: WorkerOptions,
): Promise<M> {
  const worker = new Worker(new URL('./engine-worker.js', import.meta.url), { type: 'module', name });
  const posted: Record<string, PostedFiles> = {};
  const transfer: Transferable[] = [];
  for (const [path, one] of Object.entries(files)) {
    const { posted: form, transfer: ports } = postedFiles(one);
    posted[path] = form;
    transfer.push(...ports);
  }
  worker.postMessage({ kind: name, files: posted, settings } satisfies WorkerStart, transfer);
  const onClosed = async (): Promise<void> => worker.terminate();
  return openProxy<M>(portOfWorker(worker), calls, { options, onEvent, onClosed, signal, merge });
}
