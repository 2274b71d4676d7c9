// Videos as files in a page.

import { unsupported } from '../../files/error.ts';
import type { Frames } from '../../files/image/pixels.ts';
import { encodeInThread, type EncodeVideoOptions } from '../thread/video-thread.ts';
import { startWorker } from './start-worker.ts';

/** Encodes the frames of a clip as MP4, to the bytes that Node gives. Errors: those in Node; unsupported for other formats. */
export async function encodeVideo(clip: Frames, options: EncodeVideoOptions): Promise<Uint8Array> {
  const { format } = options;
  if (format === 'webm' || format === 'webp' || format === 'gif')
    throw unsupported(`pages write videos as mp4, and not as ${format}: take mp4`, 'format');
  const script = {
    name: 'video-worker',
    base: import.meta.url,
    create: () => new Worker(new URL('./video-worker.js', import.meta.url), { type: 'module' }),
  };
  return encodeInThread((call) => startWorker(script, call, []), clip, options);
}
