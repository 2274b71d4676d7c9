// Videos, which the server draws as jobs: their progress is asked for, and their files are fetched.

import type { Signal } from '@preact/signals';
import { call, callJson, ServerError } from '../api/call.ts';
import { configurationOfOne } from './configuration.ts';
import { addEntry } from './gallery-state.ts';
import { type Progress, waitingFor } from './progress.ts';
import type { Running } from './storage.ts';

interface VideoJob {
  status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
  /** Per cent. */
  progress: number;
  queue_position: number | null;
  size: string;
  seeds: number[];
  error: { code: string; message: string } | null;
}

const INTERVAL = 1000;

/** Waits for a job and puts its videos into the gallery. Throws ServerError where it fails or is not there any more. */
export async function followVideo(
  running: Running,
  progress: Signal<Progress>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const job = await callJson<VideoJob>(`v1/videos/${running.video}`, undefined, { signal });
    if (job.status === 'completed') return addVideos(running, job, signal);
    if (job.error) throw new ServerError(job.error.message, { code: job.error.code });
    if (job.status === 'cancelled')
      throw new ServerError('The video was cancelled at the server; send the request again.');
    progress.value = { ...progress.value, ...progressOf(job) };
    await sleep(INTERVAL, signal);
  }
}

function progressOf({ status, progress, queue_position: ahead }: VideoJob): Partial<Progress> {
  if (status === 'queued' && ahead) return waitingFor(ahead);
  return { phase: 'drawing', share: progress / 100, text: `${progress} per cent` };
}

async function addVideos(running: Running, { seeds, size }: VideoJob, signal: AbortSignal): Promise<void> {
  const { configuration, id, startedAt, sources, video } = running;
  for (const [index, seed] of seeds.entries()) {
    const response = await call(`v1/videos/${video}/content?variant=${index}`, { signal });
    await addEntry({
      id: `${id}-${index}`,
      kind: 'video',
      createdAt: startedAt + index,
      content: await response.blob(),
      seed,
      size,
      configuration: configurationOfOne(configuration, seed),
      sources,
    });
  }
}

/** Rejects with the signal's reason once that is aborted. */
function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
