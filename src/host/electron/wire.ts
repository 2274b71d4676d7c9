// Names and messages that the main process, the engine's page and the app's windows share.

import type { HubEvent } from '../../files/hub/hub-events.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { WeightsOrigin } from '../../files/checkpoint/packed-file.ts';

/** Scheme of the engine's page, its scripts and the files of its models. */
export const SCHEME = 'svc-engine';
export const PAGE_URL = `${SCHEME}://engine/index.html`;

/** Channel of messages from the main process to the engine's page. */
export const PAGE_CHANNEL = 'svc-engine:page';
/** Channel on which a window opens a model or lists adapters; each message brings a port, and follows a call that the main process answers. */
export const WINDOW_CHANNEL = 'svc-engine:window';

/** Content security policy of the engine's page: its own scripts, workers and model files, nothing else. */
export const POLICY =
  "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/** In place of a kind: the worker lists adapters. */
export const ADAPTERS = 'adapters';

/**
 * `start` brings three ports, and the name of the kind of model or ADAPTERS: for the model's messages and for calls, which go to a new worker, and one on which the page posts a WireError
 * if the worker ends by itself. `end` terminates the worker.
 */
export type PageMessage = { type: 'start'; id: number; kind: string } | { type: 'end'; id: number };

/** First message from a window, beside the port on which the model's proxy or a call waits for answers. */
export type WindowMessage = { type: 'open'; kind: string } | { type: 'adapters' };

/** An open file: the address from which ranges of it are read, and its size in bytes. */
export interface OpenedFile {
  url: string;
  size: number;
}

/** Options of Platform.resolveModel that are plain data. */
export interface ResolvePlain {
  revision?: string;
  component?: string;
  mostBytes?: number;
  singleFiles?: boolean;
  /** Whether the worker inspects the model's files before its weights are downloaded. */
  inspects: boolean;
}

/** Calls that the main process answers to a worker. `ticket` names a resolveModel() in progress, `folder` an open folder. */
export interface MainAnswers {
  resolveModel(ticket: number, model: string, options: ResolvePlain): Promise<{ path: string }>;
  cancel(ticket: number): Promise<void>;
  /** Opens a file of the hub that is not downloaded yet. */
  openRemote(ticket: number, name: string): Promise<OpenedFile>;
  openFolder(path: string): Promise<{ folder: number; path: string }>;
  names(folder: number): Promise<string[]>;
  openFile(folder: number, name: string): Promise<OpenedFile>;
  closeFile(url: string): Promise<void>;
  /** Throws the error for which the last read of a file failed, if there is one. */
  failure(url: string): Promise<void>;
  /** Identifies the version of a checkpoint's shards. */
  weightsOrigin(path: string, shards: readonly string[]): Promise<WeightsOrigin>;
  folderWithin(path: string, allowed: readonly string[]): Promise<{ path: string } | 'outside' | 'missing'>;
}

/** Calls that a worker answers to the main process. */
export interface WorkerAnswers {
  progress(ticket: number, event: HubEvent): Promise<void>;
  inspect(ticket: number, path: string, files: readonly string[]): Promise<void>;
  adapters(): Promise<AdapterSummary[]>;
}
