// A video as the frames that a model's processor takes of it.

import { formatOf } from './format.ts';
import type { Clip } from './decoded.ts';
import type { FrameChoice, MediaBounds } from './media.ts';
import { readAnimation } from './read-animation.ts';
import { readContainer } from './read-container.ts';

export interface VideoReading extends FrameChoice {
  bounds: MediaBounds;
  signal?: AbortSignal;
}

/**
 * Decodes a video. `name` is the parameter that holds it, for messages. Throws bad_request, and unsupported for containers without the
 * optional package that decodes them.
 */
export async function readVideo(bytes: Uint8Array, name: string, reading: VideoReading): Promise<Clip> {
  const format = formatOf(bytes, 'video', name);
  const { bounds, signal, ...choice } = reading;
  const isAnimation = format === 'GIF' || format === 'WebP';
  return isAnimation
    ? readAnimation(bytes, name, bounds, choice, signal)
    : readContainer(bytes, { name, format }, bounds, choice, signal);
}
