// State shared by the handlers: the settings, the log, the models, and the phase of the server's life.

import { createHash } from 'node:crypto';
import type { EmbeddingModel, ImageModel, OpenEvent, TextModel } from '../../index.ts';
import type { MEDIA_FETCHING } from '../../options/media.ts';
import type { SettingValues } from '../../options/setting.ts';
import { RequestError } from '../http/errors.ts';
import type { Log } from '../http/request-log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createTurns, type Turns } from './turns.ts';

export interface ServerOptions {
  host: string;
  /** Port to listen on; 0 chooses a free one. */
  port: number;
  /** Required as a bearer token by all routes but the health endpoints. */
  apiKey?: string;
  /** Required instead of `apiKey` by the routes that change what is served; accepted by all others. */
  adminApiKey?: string;
  /** The program's version, for /server_info. */
  version?: string;
  /** Allowed origins besides the local ones; `*` allows all. */
  corsOrigins?: string[];
  /** Unknown names of fields are an error. */
  strict?: boolean;
  /** How media are fetched; default: those of options/media.ts. */
  media?: SettingValues<typeof MEDIA_FETCHING>;
  /** Requests that may wait for an image model; further ones get 429. */
  maxQueuedImages?: number;
  /** Milliseconds of silence after which a stream gets a comment. */
  keepAlive?: number;
  /** Milliseconds that the headers of a request may take to arrive, and its body beside what its bytes add. Default: 30 s. */
  receiveTime?: number;
  /** Milliseconds that running requests get to end when the server stops. */
  drainTime?: number;
}

interface ReadyText {
  kind: 'text';
  model: TextModel;
  fingerprint: string;
}

interface ReadyImage {
  kind: 'image';
  model: ImageModel;
  turns: Turns;
  /** Turns of requests that send images, whose values are settled one request at a time. */
  decoding: Turns;
}

interface ReadyEmbedding {
  kind: 'embedding';
  model: EmbeddingModel;
}

/** Any model that can be served. */
export type ServableModel = TextModel | ImageModel | EmbeddingModel;

export type Ready = ReadyText | ReadyImage | ReadyEmbedding;
export type Kind = Ready['kind'];

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
  kind: Kind | null;
  phase: Starting | { name: 'ready'; ready: Ready } | { name: 'failed'; reason: string };
}

/** Whether a slot's model is open, but has left its device: its next request opens it again, and waits for that. */
export function isAsleep({ phase }: Slot): boolean {
  return phase.name === 'ready' && phase.ready.model.asleep;
}

/** The reason of aborts by a server that stops. */
export const SHUTDOWN = 'the server stops';

export interface Service {
  readonly options: ServerOptions;
  readonly log: Log;
  /** Seconds since 1970. */
  readonly startedAt: number;
  readonly slots: Slot[];
  stopping: boolean;
  /** Requests that run in an engine; they are aborted at the end of the server's drain time. */
  readonly running: Set<AbortController>;
  /** Number of replies in progress to requests that arrived before the server stopped. */
  replies: number;
  readonly metrics: Metrics;
  /** The state that an interface keeps between its requests, made by `create` at its first use. */
  kept<T>(create: () => T): T;
}

const QUEUED_IMAGES = 128;

export function createService(options: ServerOptions, log: Log): Service {
  const kept = new Map<() => unknown, unknown>();
  return {
    options,
    log,
    startedAt: Math.floor(Date.now() / 1000),
    slots: [],
    stopping: false,
    running: new Set(),
    replies: 0,
    metrics: createMetrics(),
    kept<T>(create: () => T) {
      if (!kept.has(create)) kept.set(create, create());
      return kept.get(create) as T;
    },
  };
}

export function fillSlot({ options, metrics }: Service, slot: Slot, model: ServableModel): void {
  if (slot.names.length === 0) slot.names = [model.info.name];
  const ready = readyModel(model, options, metrics, slot.names[0]!);
  if (slot.phase.name === 'starting') {
    const { since, weights } = slot.phase;
    const seconds = (from: number, to: number): number => (to - from) / 1000;
    metrics.opened(
      slot.names[0]!,
      seconds(since, performance.now()),
      weights && seconds(weights.first, weights.last),
    );
  }
  slot.kind = ready.kind;
  slot.phase = { name: 'ready', ready };
}

function readyModel(model: ServableModel, options: ServerOptions, metrics: Metrics, name: string): Ready {
  if ('pipeline' in model.info) {
    const turns = createTurns(options.maxQueuedImages ?? QUEUED_IMAGES);
    return { kind: 'image', model: model as ImageModel, turns, decoding: createTurns(Infinity) };
  }
  if ('pooling' in model.info)
    return { kind: 'embedding', model: metrics.watchEmbeddings(name, model as EmbeddingModel) };
  const text = model as TextModel;
  return { kind: 'text', model: metrics.watchText(name, text), fingerprint: fingerprintOf(text) };
}

function fingerprintOf({ info }: TextModel): string {
  const { name, architecture, parameters, quantization, adapter } = info;
  const identity = JSON.stringify([name, architecture, parameters, quantization, adapter.description]);
  return `fp_${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
}

/** Throws if the server is stopping, or if no model is ready yet. */
export function requireRunning({ stopping, slots }: Service): void {
  if (stopping) {
    throw new RequestError('stopping', 'the server is shutting down; send the request again once it is back');
  }
  if (slots.some(({ phase }) => phase.name === 'ready')) return;
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
  const progress = slot?.phase.name === 'starting' ? slot.phase.progress : null;
  return new RequestError(
    'starting',
    `the model is not ready yet (${progressText(progress)}); try again soon`,
  );
}

function progressText(progress: OpenEvent | null): string {
  if (progress?.type === 'download') return `downloading ${progress.file}, ${percent(progress)} %`;
  if (progress?.type === 'load') return `loading weights, ${percent(progress)} %`;
  if (progress?.type === 'warmup') return `preparing kernels, ${progress.done} of ${progress.total}`;
  return 'starting';
}

function percent({ bytes, totalBytes }: { bytes: number; totalBytes: number }): number {
  return totalBytes > 0 ? Math.floor((100 * bytes) / totalBytes) : 0;
}
