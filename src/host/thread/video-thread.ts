// Encodes a video in a thread, so that the caller's own goes on; both sides of the messages between them.

import { withResolvers } from '../../engine/async/resolvers.ts';
import type { Port } from '../../engine/platform/port.ts';
import { fromWire, toWire, type WireError } from '../../engine/platform/wire-error.ts';
import { EngineError } from '../../files/error.ts';
import type { Frames } from '../../files/image/pixels.ts';
import { checkVideo, type VideoOptions } from '../../files/video/formats.ts';

export interface EncodeVideoOptions extends VideoOptions {
  /** Ends the encoding; the error is `cancelled`. */
  signal?: AbortSignal;
}

export interface VideoCall {
  clip: Frames;
  options: VideoOptions;
}

type Answer = { bytes: Uint8Array } | { error: WireError };

/** Encodes frames in a thread that `start` starts with the call. Errors: bad_request, unsupported, cancelled. */
export async function encodeInThread(
  start: (call: VideoCall) => Port,
  { width, height, frames, data }: Frames,
  { signal, ...options }: EncodeVideoOptions,
): Promise<Uint8Array> {
  const clip = { width, height, ...(frames !== undefined && { frames }), data };
  checkVideo(clip, options);
  const cancelled = () => new EngineError('cancelled', 'the video was cancelled before it was encoded');
  if (signal?.aborted) throw cancelled();
  const port = start({ clip, options });
  const { promise, resolve, reject } = withResolvers<Uint8Array>();
  const abort = (): void => reject(cancelled());
  signal?.addEventListener('abort', abort);
  port.onLost(reject);
  port.onMessage((message) => {
    const answer = message as Answer;
    if ('bytes' in answer) resolve(answer.bytes);
    else reject(fromWire(answer.error));
  });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    port.end!();
  }
}

/** Answers a call in the thread. */
export async function answerCall(
  port: Port,
  encode: (clip: Frames, options: VideoOptions) => Promise<Uint8Array>,
  { clip, options }: VideoCall,
): Promise<void> {
  try {
    port.post({ bytes: await encode(clip, options) } satisfies Answer);
  } catch (error) {
    port.post({ error: toWire(error) } satisfies Answer);
  }
}
