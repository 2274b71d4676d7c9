// Videos as replies show them.

import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { type ResolvedImageRequest, VIDEO_FORMATS } from '../../index.ts';
import { upscaledSize } from '../../options/upscaled-size.ts';
import { ownerNow } from '../service/caller.ts';
import { shownVideo, type Video as VideoReply, type VideoRecord } from './video-reply-schema.ts';
import type { VideoBody } from './video-schema.ts';
import type { Video, VideoStore } from './video-store.ts';

/** The record of a video that waits for its turn. */
export function startRecord(body: VideoBody, values: ResolvedImageRequest): VideoRecord {
  const { frames, samples } = values;
  const { width, height } = upscaledSize(values);
  const fps = values.fps ?? 1;
  return {
    id: `video_${randomUUID()}`,
    model: body.model ?? 'default',
    prompt: body.prompt,
    status: 'queued',
    progress: 0,
    created_at: Math.floor(Date.now() / 1000),
    completed_at: null,
    size: `${width}x${height}`,
    seconds: String(Math.round((100 * frames) / fps) / 100),
    num_frames: frames,
    fps,
    output_format: body.output_format ?? VIDEO_FORMATS[0],
    num_outputs: Array.isArray(body.seed) ? body.seed.length : samples,
    seeds: [],
    error: null,
    peak_memory_mb: 0,
    inference_time_s: 0,
    bytes: [],
    owner: ownerNow(),
  };
}

/** `origin`: that of the server's address, as the client knows it. */
export function videoReply(
  store: VideoStore,
  { record, running }: Video,
  origin: string,
): z.infer<typeof VideoReply> {
  const shown = shownVideo.parse(record);
  const paths = record.bytes.flatMap((_, at) => store.files.path(record, at) ?? []);
  return {
    ...shown,
    object: 'video',
    quality: 'standard',
    expires_at: store.expiry(record),
    queue_position: record.status === 'queued' && running ? running.turn.ahead : null,
    url: record.status === 'completed' ? `${origin}/v1/videos/${record.id}/content` : null,
    remixed_from_video_id: null,
    file_path: paths[0] ?? null,
    file_paths: paths,
  };
}
