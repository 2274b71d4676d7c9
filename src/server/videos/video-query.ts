// What addresses of videos ask for: a page of the list, a file of a video.

import { fieldError, RequestError } from '../http/errors.ts';
import type { Video } from './video-store.ts';

const MOST_LISTED = 100;
const LISTED = 20;

export const LIST_QUERY = {
  after: 'Id of the last video of the page before.',
  limit: `Videos of a page, 1 to ${MOST_LISTED}; left out, ${LISTED}.`,
  order: 'asc or desc by the time of their creation; left out, desc.',
};

/** A page of videos, given the oldest first. Throws RequestError. */
export function pageOf(
  videos: readonly Video[],
  query: URLSearchParams,
): { page: Video[]; hasMore: boolean } {
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc')
    throw fieldError('order', `is ${JSON.stringify(order)}; it is asc or desc`);
  const limit = query.get('limit') ?? String(LISTED);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_LISTED)
    throw fieldError('limit', `is ${JSON.stringify(limit)}; it is an integer from 1 to ${MOST_LISTED}`);
  const ordered = order === 'asc' ? videos : videos.toReversed();
  const after = query.get('after');
  const at = after === null ? -1 : ordered.findIndex(({ record }) => record.id === after);
  if (after !== null && at < 0)
    throw fieldError('after', `is ${JSON.stringify(after)}, and there is no such video here, or no longer`);
  const rest = ordered.slice(at + 1);
  return { page: rest.slice(0, Number(limit)), hasMore: rest.length > Number(limit) };
}

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
