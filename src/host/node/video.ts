// Videos as files in Node. This file starts the thread that encodes, and is also the file that the thread runs.

import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import type { Frames } from '../../files/image/pixels.ts';
import {
  answerCall,
  type EncodeVideoOptions,
  encodeInThread,
  type VideoCall,
} from '../thread/video-thread.ts';
import { portOf, startThread } from './thread.ts';

const VIDEO_THREAD = 'svc-video';

/**
 * Encodes the frames of a clip as MP4 (H.264), WebM (VP9, with the optional package @mediabunny/server), animated WebP or GIF. Sides of MP4
 * are even: an odd one gets its last column or row twice, and the file states the part to show, which not every player respects. Errors:
 * bad_request (options, or frames that the format does not take), unsupported (WebM without its package), cancelled.
 */
export function encodeVideo(clip: Frames, options: EncodeVideoOptions): Promise<Uint8Array> {
  return encodeInThread(
    (call) => portOf(startThread(import.meta.url, { workerData: { name: VIDEO_THREAD, call } })),
    clip,
    options,
  );
}

if (!isMainThread && parentPort && isVideoThread(workerData)) {
  const { encodeFrames } = await import('../../files/video/encode-video.ts');
  await answerCall(portOf(parentPort), encodeFrames, workerData.call);
}

function isVideoThread(data: unknown): data is { name: string; call: VideoCall } {
  return typeof data === 'object' && data !== null && 'name' in data && data.name === VIDEO_THREAD;
}
