// State shared by the handlers: the settings, the log, the models, and the phase of the server's life.

import {
  type AnyKind,
  type EmbeddingModel,
  MODEL_KINDS,
  type ModelKind,
  type OpenEvent,
  type TextModel,
  type TranscriptionModel,
} from '../../index.ts';
import type { MEDIA_FETCHING } from '../../options/media.ts';
import type { SettingValues } from '../../options/setting.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Download, Downloads } from '../catalog/downloads.ts';
import type { ServableModel } from '../catalog/model-source.ts';
import type { OnDemandModel } from '../catalog/on-demand-model.ts';
import { RequestError } from '../http/errors.ts';
import type { Log } from '../http/request-log.ts';
import type { Caller } from './caller.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import type { Tracing } from './tracing.ts';

export interface ServerOptions {
  host: string;
  /** Port to listen on; 0 chooses a free one. */
  port: number;
  /** Path of a Unix socket, or of a named pipe of Windows, to listen on in place of host and port. */
  unixSocket?: string;
  /** Certificate chain and private key in PEM for HTTPS; `password` where the key is encrypted. */
  tls?: { cert: string; key: string; password?: string };
  /** File with several keys: names, rights and limits (api-keys.ts). */
  apiKeyFile?: string;
  /** Required as a bearer token by all routes but the health endpoints. */
  apiKey?: string;
  /** Required instead of `apiKey` by the routes that change what is served; accepted by all others. */
  adminApiKey?: string;
  /** The program's version, for /server_info. */
  version?: string;
  /** Allowed origins beside the local ones; `*` allows all. */
  corsOrigins?: string[];
  /** Whether / shows the web page; default: true. */
  web?: boolean;
  /** Origins of MCP servers beside those on this machine that the web page may call. */
  mcpOrigins?: string[];
  /** Unknown names of fields are an error. */
  strict?: boolean;
  /** How media are fetched; default: those of options/media.ts. */
  media?: SettingValues<typeof MEDIA_FETCHING>;
  /** Folder that keeps videos beyond the server's life; left out: they are kept in memory. */
  outputPath?: string;
  /** Requests that may wait for an image model; further ones get 429. */
  maxQueuedImages?: number;
  /** Milliseconds of silence after which a stream gets a comment. */
  keepAlive?: number;
  /** Milliseconds that the headers of a request may take to arrive, and its body beside what its bytes add. Default: 30 s. */
  receiveTime?: number;
  /** Milliseconds that running requests get to end when the server stops. */
  drainTime?: number;
  /** Milliseconds that a server which stops still takes requests, while its probes already answer 503. Default: 0. */
  drainDelay?: number;
}

export type { ServableModel };

/** A model that is open. */
export interface Ready<M = ServableModel> {
  kind: AnyKind;
  model: M;
}

/** Whether an open model is of a kind. */
export function isOf<M extends ServableModel>(kind: ModelKind<never, M>, ready: Ready): ready is Ready<M> {
  return ready.kind.name === kind.name;
}

interface Starting {
  name: 'starting';
  progress: OpenEvent | null;
  /** Times on the monotonic clock: when the opening began, and when its first and last weights arrived. */
  since: number;
  weights: { first: number; last: number } | null;
}

/** The phase of a model whose opening begins now. */
export function starting(): Starting {
  return { name: 'starting', progress: null, since: performance.now(), weights: null };
}

/** A served model's slot: filled once the model is open, empty again when the model ends. */
export interface Slot {
  /** Names the model answers to; none where only the model knows its own. */
  names: string[];
  /** null: unknown until the model is open. */
  kind: AnyKind | null;
  phase:
    | Starting
    | { name: 'ready'; ready: Ready }
    | { name: 'failed'; reason: string }
    /** Its next request opens it; `reason`: why the last one could not. */
    | { name: 'unloaded'; reason: string | null };
  /** The model in the catalog of those that are opened on demand; left out: it is open as long as the server runs. */
  readonly demand?: OnDemandModel;
}

/** Whether a slot's model is open, but has left its device: its next request opens it again, and waits for that. */
export function isAsleep({ phase }: Slot): boolean {
  return phase.name === 'ready' && phase.ready.model.asleep;
}

/** The reason of aborts by a server that stops. */
export const SHUTDOWN = 'the server stops';

/** The models that are opened on demand, and those that are being fetched. */
export interface OnDemand {
  readonly catalog: Catalog;
  readonly downloads: Downloads;
}

/** A model whose state changed, or that is no longer listed; a download with new figures, or that is over; the server's stop. */
export type Change =
  | { readonly slot: Slot; readonly isGone?: true }
  | { readonly download: Download; readonly isOver?: true; readonly error?: Error | null }
  | { readonly isStopping: true };

export interface Service {
  readonly options: ServerOptions;
  readonly log: Log;
  /** Seconds since 1970. */
  readonly startedAt: number;
  readonly slots: Slot[];
  /** What is opened on demand; null: the list of models is fixed. */
  onDemand: OnDemand | null;
  /** Called at each change of a model or of a download. */
  readonly watchers: Set<(change: Change) => void>;
  /** Whether the probes say that the server stops. */
  leaving: boolean;
  /** Whether requests are refused, since the server stops. */
  stopping: boolean;
  /** Requests that run in an engine; they are aborted at the end of the server's drain time. */
  readonly running: Set<AbortController>;
  /** Number of replies in progress to requests that arrived before the server stopped. */
  replies: number;
  readonly metrics: Metrics;
  /** null: no traces are asked for. */
  readonly tracing: Tracing | null;
  /** The caller with a key of this name now; null: its key is withdrawn. */
  callerNamed(name: string): Caller | null;
  /** Answers a request that the server makes itself, by its own routes. */
  dispatch(request: Request): Promise<Response>;
  /** What has to end with the server. */
  readonly closing: (() => Promise<void>)[];
  /** The state that an interface keeps between its requests, made by `create` at its first use. */
  kept<T>(create: () => T): T;
}

export function createService(options: ServerOptions, log: Log, tracing: Tracing | null = null): Service {
  const kept = new Map<() => unknown, unknown>();
  return {
    options,
    log,
    startedAt: Math.floor(Date.now() / 1000),
    slots: [],
    onDemand: null,
    watchers: new Set(),
    leaving: false,
    stopping: false,
    running: new Set(),
    replies: 0,
    metrics: createMetrics(tracing),
    tracing,
    callerNamed: () => null,
    dispatch: () => Promise.reject(new Error('the routes are not there yet')),
    closing: [],
    kept<T>(create: () => T) {
      if (!kept.has(create)) kept.set(create, create());
      return kept.get(create) as T;
    },
  };
}

export function fillSlot({ metrics }: Service, slot: Slot, model: ServableModel): void {
  if (slot.names.length === 0) slot.names = [model.info.name];
  const name = slot.names[0]!;
  if (slot.phase.name === 'starting') {
    const { since, weights } = slot.phase;
    const seconds = (from: number, to: number): number => (to - from) / 1000;
    metrics.opened(name, seconds(since, performance.now()), weights && seconds(weights.first, weights.last));
  }
  const kind = kindOf(model, slot);
  slot.kind = kind;
  slot.phase = { name: 'ready', ready: { kind, model: watched(metrics, name, { kind, model }) } };
}

/** The kind that its info names, which is a built-in one unless the slot was made for another. */
function kindOf({ info: { kind: name } }: ServableModel, slot: Slot): AnyKind {
  const known = [slot.kind, ...Object.values(MODEL_KINDS)].find((kind) => kind?.name === name);
  if (!known) throw new Error(`a slot for models of the kind ${name} has to name the kind`);
  return known;
}

/** The model with its requests counted. */
function watched(metrics: Metrics, name: string, ready: Ready): ServableModel {
  if (isOf<TextModel>(MODEL_KINDS.text, ready)) return metrics.watchText(name, ready.model);
  if (isOf<EmbeddingModel>(MODEL_KINDS.embedding, ready)) return metrics.watchEmbeddings(name, ready.model);
  if (isOf<TranscriptionModel>(MODEL_KINDS.transcription, ready))
    return metrics.watchTranscription(name, ready.model);
  return ready.model;
}

export function tellChange({ watchers }: Service, change: Change): void {
  for (const watcher of watchers) watcher(change);
}

/** Records the progress of an opening. */
export function noteProgress({ phase }: Slot, event: OpenEvent): void {
  if (event.type === 'note' || phase.name !== 'starting') return;
  phase.progress = event;
  const now = performance.now();
  if (event.type === 'load') phase.weights = { first: phase.weights?.first ?? now, last: now };
}

/** Throws if the server is stopping, or if no model is ready yet and none is opened on demand. */
export function requireRunning({ stopping, slots, onDemand }: Service): void {
  if (stopping) {
    throw new RequestError('stopping', 'the server is shutting down; send the request again once it is back');
  }
  if (onDemand || slots.some(({ phase }) => phase.name === 'ready')) return;
  throw notReady(slots.find(({ phase }) => phase.name === 'starting') ?? slots[0]);
}

/** The error for a request whose model is not open. */
export function notReady(slot: Slot | undefined): RequestError {
  if (slot?.phase.name === 'failed') {
    return new RequestError(
      'model_lost',
      `the model could not be opened again (${slot.phase.reason}); start the server anew`,
    );
  }
  if (slot?.phase.name === 'unloaded')
    return new RequestError(
      'starting',
      `${slot.names.join(', ')} is not open: POST /models/load or a request for text, vectors or images opens it`,
    );
  const progress = slot?.phase.name === 'starting' ? slot.phase.progress : null;
  return new RequestError(
    'starting',
    `the model is not ready yet (${progressText(progress)}); try again soon`,
  );
}

export function progressText(progress: OpenEvent | null): string {
  if (progress?.type === 'download') return `downloading ${progress.file}, ${percent(progress)} %`;
  if (progress?.type === 'load') return `loading weights, ${percent(progress)} %`;
  if (progress?.type === 'warmup') return `preparing kernels, ${progress.done} of ${progress.total}`;
  return 'starting';
}

function percent({ bytes, totalBytes }: { bytes: number; totalBytes: number }): number {
  return totalBytes > 0 ? Math.floor((100 * bytes) / totalBytes) : 0;
}
