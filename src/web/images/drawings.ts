// Requests that are being drawn: started, followed to their end, stopped, and taken up again after the page was reloaded.

import { newId } from '../api/new-id.ts';
import { type Signal, signal } from '@preact/signals';
import { call, callJson, ServerError } from '../api/call.ts';
import type { ServerEvent } from '../api/events.ts';
import { refreshModels } from '../api/models.ts';
import { resumeStream, startStream, stopStream } from '../api/resumable.ts';
import { refreshServerInfo } from '../api/server-info.ts';
import {
  type Configuration,
  configurationOfOne,
  imageRequest,
  type Sources,
  videoRequest,
} from './configuration.ts';
import { addEntry } from './gallery-state.ts';
import { afterComment, BEFORE, type Progress } from './progress.ts';
import { type Running, runningStore } from './storage.ts';
import { followVideo } from './videos.ts';

export interface RunningDrawing {
  running: Running;
  progress: Signal<Progress>;
  abort: AbortController;
}

/** Requests that run or wait, the latest first. */
export const drawings = signal<readonly RunningDrawing[]>([]);

/** What the last images' model says of their prompt; '' if nothing. */
export const drawingNote = signal('');

/** Why the last request ended without its images, and the field that is to blame; null: it did not. */
export const drawingProblem = signal<{ message: string; param: string | null } | null>(null);

/** Sends a request and follows it to its end. Errors go to `drawingProblem`. */
export async function draw(
  kind: Running['kind'],
  configuration: Configuration,
  sources: Sources,
): Promise<void> {
  drawingProblem.value = null;
  drawingNote.value = '';
  const running: Running = { id: `image-${newId()}`, kind, startedAt: Date.now(), configuration, sources };
  await follow(running, false);
}

/** The page is being left: its connections end, and its requests are still to be taken up again. */
let isLeaving = false;
addEventListener('pagehide', () => {
  isLeaving = true;
});
addEventListener('pageshow', () => {
  isLeaving = false;
});

/** Takes up the requests that ran when the page was left; called once. */
export async function resumeDrawings(): Promise<void> {
  const left = await runningStore.all().catch(() => []);
  await Promise.all(left.map((running) => follow(running, true)));
}

async function follow(running: Running, isKnown: boolean): Promise<void> {
  const drawing: RunningDrawing = { running, progress: signal(BEFORE), abort: new AbortController() };
  drawings.value = [drawing, ...drawings.value];
  try {
    // A full storage does not keep anybody from drawing.
    if (!isKnown) await runningStore.put(running).catch(() => {});
    await (running.kind === 'video' ? drawVideo(drawing) : drawImages(drawing, isKnown));
  } catch (error) {
    if (!drawing.abort.signal.aborted) drawingProblem.value = problemOf(error, isKnown);
  }
  drawings.value = drawings.value.filter((one) => one !== drawing);
  if (isLeaving) return;
  await runningStore.delete(running.id).catch(() => {});
  // A model that the request opened has settings of its own now.
  await Promise.all([refreshModels(), refreshServerInfo()]);
}

function problemOf(error: unknown, isKnown: boolean): { message: string; param: string | null } {
  if (!(error instanceof ServerError)) return { message: String(error), param: null };
  if (isKnown && error.status === 404)
    return { message: 'The server no longer knows a request that was running; send it again.', param: null };
  return { message: error.message, param: error.param };
}

/** Ends a request; the server draws no further. */
export function stop({ abort, running }: RunningDrawing): void {
  abort.abort();
  const end =
    running.kind === 'video'
      ? running.video && call(`v1/videos/${running.video}`, { method: 'DELETE' })
      : stopStream(running.id);
  // A request that has just ended has nothing to stop.
  if (end) void end.catch(() => {});
}

async function drawVideo(drawing: RunningDrawing): Promise<void> {
  const { running, progress, abort } = drawing;
  if (running.video === undefined) {
    const { path, body } = videoRequest(running.configuration, running.sources);
    const { signal } = abort;
    const sent = body instanceof FormData ? await call(path, { method: 'POST', body, signal }) : null;
    const job = sent ? await sent.json() : await callJson(path, body, { signal });
    running.video = (job as { id: string }).id;
    await runningStore.put(running).catch(() => {});
  }
  await followVideo(running, progress, abort.signal);
}

async function drawImages(drawing: RunningDrawing, isKnown: boolean): Promise<void> {
  const { running, progress, abort } = drawing;
  const asked = running.configuration['n'];
  const expected = typeof asked === 'number' ? asked : 1;
  for await (const event of imageEvents(drawing, isKnown)) {
    if (event.isComment) progress.value = afterComment(progress.value, event.data, expected);
    else await takeEvent(drawing, event);
  }
  if ((running.done ?? []).length < expected && !abort.signal.aborted)
    throw new ServerError('The server ended the request before its images were complete; send it again.');
}

/** The events of a request; those of one that ran before the page was reloaded begin after its last complete image. */
async function* imageEvents(
  { running, abort }: RunningDrawing,
  isKnown: boolean,
): AsyncGenerator<ServerEvent> {
  const { id, configuration, sources, lastEvent = 0 } = running;
  const { signal } = abort;
  if (isKnown) return yield* resumeStream(id, lastEvent, signal);
  yield* startStream({ ...(await imageRequest(configuration, sources)), id, signal });
}

interface ImageEvent {
  type: string;
  b64_json: string;
  image_index: number;
  seed: number;
  size: string;
  output_format: string;
  /** Words of the prompt that the model never saw. */
  unknown_words?: string[];
  error?: { message: string; code: string | null; param?: string | null };
}

async function takeEvent({ running, progress }: RunningDrawing, { data, id }: ServerEvent): Promise<void> {
  const event = JSON.parse(data) as ImageEvent;
  const { type, b64_json: base64, image_index: index, error } = event;
  if (error) {
    const { message, code, param = null } = error;
    throw new ServerError(message, { code: code ?? 'error', param });
  }
  if (type.endsWith('.partial_image')) {
    const previews = [...progress.value.previews];
    previews[index] = `data:image/${event.output_format};base64,${base64}`;
    progress.value = { ...progress.value, previews };
  }
  if (!type.endsWith('.completed')) return;
  const { unknown_words: words = [] } = event;
  if (words.length > 0) drawingNote.value = `The model never saw these words: ${words.join(', ')}.`;
  await addEntry({
    id: `${running.id}-${index}`,
    kind: 'image',
    createdAt: running.startedAt + index,
    content: new Blob([bytesOf(base64)], { type: `image/${event.output_format}` }),
    seed: event.seed,
    size: event.size,
    configuration: configurationOfOne(running.configuration, event.seed),
    sources: running.sources,
  });
  running.done = [...(running.done ?? []), index];
  running.lastEvent = id ?? 0;
  await runningStore.put(running).catch(() => {});
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
