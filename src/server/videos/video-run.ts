// Draws a video after its request was answered, and records how it ends.

import type { Frames, ImageEvent } from '../../index.ts';
import { countText } from '../../files/count-text.ts';
import { isUnforeseen, RequestError, toErrorReply } from '../http/errors.ts';
import { duration } from '../http/request-log.ts';
import type { SettledImages } from '../images/image-drawing.ts';
import { SHUTDOWN, type Service } from '../service/service.ts';
import { encodeClip, type VideoEncoding } from './video-file.ts';
import type { VideoRecord } from './video-reply-schema.ts';
import type { Video, VideoStore } from './video-store.ts';

/** Never rejects. */
export async function runVideo(
  service: Service,
  store: VideoStore,
  video: Video,
  { settled, encoding, signal }: { settled: SettledImages; encoding: VideoEncoding; signal: AbortSignal },
): Promise<void> {
  const { record } = video;
  const end = (error: unknown): Promise<void> => {
    if (error !== null && isUnforeseen(error)) service.log.error(error);
    return store.end(video, outcomeOf(error, signal));
  };
  try {
    const events = settled.draw({ previews: 0, signal });
    await save(store, video, events, (clip) => encodeClip(clip, encoding, signal));
    await end(null);
  } catch (error) {
    // The files that are removed now may leave room for the record.
    await end(error).catch((again: unknown) => service.log.error(again));
  }
  service.log.info(logLine(record));
}

/** Encodes and keeps each clip while the next one is drawn. */
async function save(
  store: VideoStore,
  video: Video,
  events: AsyncIterable<ImageEvent>,
  encode: (clip: Frames) => Promise<Uint8Array>,
): Promise<void> {
  let saved = Promise.resolve();
  try {
    for await (const event of events) {
      apply(video.record, event);
      if (event.type !== 'image') continue;
      await saved;
      saved = encode(event.image).then((bytes) => store.keep(video, bytes, event.seed));
      saved.catch(() => {}); // awaited later
    }
  } finally {
    await saved;
  }
}

function apply(record: VideoRecord, event: ImageEvent): void {
  if (record.status === 'queued') record.status = 'in_progress';
  if (event.type === 'step') {
    const share = (event.sample + event.step / event.steps) / record.num_outputs;
    // The rest is for decoding.
    record.progress = Math.min(99, Math.floor(100 * share));
  }
  if (event.type === 'stage')
    record.peak_memory_mb = Math.max(record.peak_memory_mb, Math.round(event.peakBytes / 1e5) / 10);
  if (event.type === 'done') record.inference_time_s += Math.round(event.milliseconds) / 1000;
}

const STOPPED = 'the server shut down before the video was complete; ask for it again';

function outcomeOf(error: unknown, { aborted, reason }: AbortSignal): Pick<VideoRecord, 'status' | 'error'> {
  if (error === null) return { status: 'completed', error: null };
  if (aborted && reason !== SHUTDOWN) return { status: 'cancelled', error: null };
  const { code, message } = toErrorReply(aborted ? new RequestError('stopping', STOPPED) : error).body.error;
  return { status: 'failed', error: { code, message } };
}

function logLine({
  id,
  status,
  error,
  num_outputs,
  num_frames,
  size,
  inference_time_s,
}: VideoRecord): string {
  const what = `${countText(num_outputs, 'video')} of ${countText(num_frames, 'frame')} of ${size}`;
  const how = error ? `${status} ${error.code}` : status;
  return [`${id} ${how}`, what, duration(1000 * inference_time_s)].join(' · ');
}
