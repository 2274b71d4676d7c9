// What the handlers share: the settings, the log, and where the server stands between its first line and its last.

import { createHash } from 'node:crypto';
import type { OpenEvent, TextModel } from '../index.ts';
import { RequestError } from './errors.ts';

/** Where log lines go; consola fits. */
export interface Log {
  error(...parts: unknown[]): void;
  warn(...parts: unknown[]): void;
  info(...parts: unknown[]): void;
  debug(...parts: unknown[]): void;
}

export interface ServerOptions {
  host: string;
  /** 0: any free one. */
  port: number;
  /** Asked for as a bearer token, except by the health endpoints. */
  apiKey?: string;
  /** Names the model answers to; left out: its own. */
  servedModelNames?: string[];
  /** Origins besides the local ones; `*` is all. */
  corsOrigins?: string[];
  /** Names of fields nobody knows are an error. */
  strict?: boolean;
  /** Milliseconds of silence after which a stream gets a comment. */
  keepAlive?: number;
  /** Milliseconds that running requests get to end when the server stops. */
  drainTime?: number;
}

export interface ReadyPhase {
  name: 'ready';
  model: TextModel;
  names: string[];
  fingerprint: string;
}

type Phase = { name: 'starting'; progress: OpenEvent | null } | ReadyPhase | { name: 'stopping' };

export interface Service {
  readonly options: ServerOptions;
  readonly log: Log;
  /** Seconds since 1970. */
  readonly startedAt: number;
  phase: Phase;
  /** Requests with the engine; aborted when the server's drain time is over. */
  readonly running: Set<AbortController>;
  /** Replies that have begun and not ended. */
  replies: number;
}

export function createService(options: ServerOptions, log: Log): Service {
  return {
    options,
    log,
    startedAt: Math.floor(Date.now() / 1000),
    phase: { name: 'starting', progress: null },
    running: new Set(),
    replies: 0,
  };
}

export function readyPhase(model: TextModel, servedNames: string[] | undefined): ReadyPhase {
  const { name, architecture, parameters, quantization, adapter } = model.info;
  const identity = JSON.stringify([name, architecture, parameters, quantization, adapter.description]);
  const names = servedNames?.length ? servedNames : [name];
  return {
    name: 'ready',
    model,
    names,
    fingerprint: `fp_${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`,
  };
}

export function requireReady({ phase }: Service): ReadyPhase {
  if (phase.name === 'ready') return phase;
  if (phase.name === 'stopping') {
    throw new RequestError('stopping', 'the server is shutting down; send the request again once it is back');
  }
  throw new RequestError(
    'starting',
    `the model is not ready yet (${progressText(phase.progress)}); try again soon`,
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
