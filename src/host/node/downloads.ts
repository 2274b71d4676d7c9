// Downloads from a hub as data: what a model consists of and what of it is here, and downloads that are read as events or awaited, paused and resumed.

import { ReplyStream } from '../../chat/reply-stream.ts';
import type { HubEvent } from '../../files/hub/hub-events.ts';
import type { DownloadFile } from '../../files/hub/hub-fetch.ts';
import { resolveModel, type ResolvedModel } from '../../files/hub/hub.ts';
import type { ResolveOptions } from './hub-models.ts';

export type DownloadOptions = Omit<ResolveOptions, 'onProgress' | 'inspect' | 'allow'>;

/** Yields HubEvents; awaited, it is the model's place on this machine. `abort()` pauses it: what has arrived is kept. */
export type ModelDownload = ReplyStream<ResolvedModel, HubEvent>;

export interface DescribedDownload {
  id: string;
  /** The commit; null for a model that is no download: a folder, or one that ships. */
  revision: string | null;
  /** Files of the hub with their sizes; empty where the hub was not asked, because the model is here as a whole. */
  files: readonly DownloadFile[];
  /** Bytes of all files, and how many of them are on this machine. */
  total: number;
  received: number;
  /** Whether all of it is on this machine. */
  complete: boolean;
}

/**
 * Downloads a model of the hub into the cache, or what is missing of it: a call after one that was paused or interrupted goes on where that stopped.
 * removeModel() removes it, paused downloads included. Errors: those of resolveModel; cancelled after abort() or where `signal` aborts.
 */
export function downloadModel(
  model: string,
  { signal: given, ...options }: DownloadOptions = {},
): ModelDownload {
  return new ReplyStream<ResolvedModel, HubEvent>(
    async (onProgress, signal) =>
      resolveModel(model, { ...options, ...(await families()), onProgress, signal }),
    given,
  );
}

/** Tells what downloadModel() would download, and what of it is here. Errors: those of resolveModel. */
export async function describeDownload(
  model: string,
  options: DownloadOptions = {},
): Promise<DescribedDownload> {
  let files: DownloadFile[] = [];
  const onFiles = (listed: DownloadFile[]): boolean => {
    files = listed;
    return false;
  };
  const { id, revision } = await resolveModel(model, { ...options, ...(await families()), onFiles });
  const [total, received] = [sum(files.map(({ size }) => size)), sum(files.map((file) => file.received))];
  return { id, revision, files, total, received, complete: received === total };
}

async function families() {
  const { pipelineFolders } = await import('../../engine/image/families/registry.ts');
  return { pipelines: pipelineFolders() };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
