// What addresses of videos ask for: pages of the list, a file of a video.

import { RequestError } from '../http/errors.ts';
import type { Video } from './video-store.ts';

export const VIDEO_PAGES = { noun: 'video', nouns: 'videos', most: 100, usual: 20 };

/** The index of the file that is asked for: OpenAI's `video` is the first. Throws RequestError. */
export function variantOf({ record }: Video, query: URLSearchParams): number {
  const { id, status, bytes } = record;
  if (status !== 'completed')
    throw new RequestError('not_found', `the video ${id} has no file: it is ${status}`);
  const variant = query.get('variant') ?? 'video';
  const at = variant === 'video' ? 0 : Number(/^\d{1,3}$/.exec(variant)?.[0] ?? NaN);
  if (at < bytes.length) return at;
  const others = bytes.length > 1 ? `, or 0 to ${bytes.length - 1}` : ', or 0';
  throw new RequestError(
    'not_found',
    `the video ${id} has no variant ${JSON.stringify(variant)}; ask for video${others}`,
    { param: 'variant' },
  );
}
