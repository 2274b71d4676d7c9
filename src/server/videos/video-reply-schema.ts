// Videos as replies show them, and the part of them that is kept.

import { z } from 'zod';
import { VIDEO_FORMATS } from '../../index.ts';
import { count, pageSchema, seconds } from '../http/reply-members.ts';

const STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelling', 'cancelled'] as const;

const kept = {
  id: z.string().regex(/^video_[\da-f-]{36}$/),
  model: z.string().describe('As the request named it.'),
  prompt: z.string(),
  status: z.enum(STATUSES),
  progress: z.int().min(0).max(100).describe('Per cent.'),
  created_at: seconds,
  completed_at: seconds.nullable(),
  size: z.string().describe('WIDTHxHEIGHT.'),
  seconds: z.string().describe('Length, as "4.06".'),
  num_frames: count,
  fps: z.number(),
  output_format: z.enum(VIDEO_FORMATS),
  num_outputs: count.describe('Videos that were asked for.'),
  seeds: z.array(count).describe('Of the videos that are complete.'),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  peak_memory_mb: z.number(),
  inference_time_s: z.number().describe('Without the time in the queue.'),
};

/** What is kept of a video beside its files. `bytes`: those of each file; `owner`: name of the key that asked for it, '' without one. */
export const videoRecord = z.object({ ...kept, bytes: z.array(count), owner: z.string().default('') });

/** What replies show of it. */
export const shownVideo = z.object(kept);

export type VideoRecord = z.infer<typeof videoRecord>;

export const Video = z.strictObject({
  ...kept,
  object: z.literal('video'),
  quality: z.literal('standard'),
  expires_at: seconds.nullable().describe('When it is dropped; null: not before it is deleted.'),
  queue_position: count.nullable().describe('Requests before it; null: it is not waiting.'),
  url: z.url().nullable().describe('Of its file, once it is complete.'),
  remixed_from_video_id: z.null(),
  file_path: z.string().nullable().describe('On the server, under --output-path.'),
  file_paths: z.array(z.string()),
});

export const VideoList = pageSchema(Video);

export const DeletedVideo = z.strictObject({
  id: z.string(),
  object: z.literal('video.deleted'),
  deleted: z.literal(true),
  status: z.literal('deleted'),
});
