// Pages of a list, as OpenAI's interface asks for them: the entries after one, so many, by the time of their creation.

import { fieldError } from './errors.ts';

/** A page as a reply. */
export const listReply = <T extends { id: string }>(data: readonly T[], hasMore: boolean) => ({
  object: 'list' as const,
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});

interface Paging {
  /** What the list holds, in the singular and in the plural. */
  noun: string;
  nouns: string;
  /** Entries of a page: the most, and where none are asked for. */
  most: number;
  usual: number;
}

/** The query parameters of a list, for the API page. */
export const pageQuery = ({ noun, nouns, most, usual }: Paging) => ({
  after: `Id of the last ${noun} of the page before.`,
  limit: `${nouns[0]!.toUpperCase()}${nouns.slice(1)} of a page, 1 to ${most}; left out, ${usual}.`,
  order: 'asc or desc by the time of their creation; left out, desc.',
});

/** A page of entries, given the oldest first. Throws RequestError. */
export function pageOf<T>(
  entries: readonly T[],
  idOf: (entry: T) => string,
  query: URLSearchParams,
  { noun, most, usual }: Paging,
): { page: T[]; hasMore: boolean } {
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc')
    throw fieldError('order', `is ${JSON.stringify(order)}; it is asc or desc`);
  const limit = query.get('limit') ?? String(usual);
  if (!/^\d{1,5}$/.test(limit) || Number(limit) < 1 || Number(limit) > most)
    throw fieldError('limit', `is ${JSON.stringify(limit)}; it is an integer from 1 to ${most}`);
  const ordered = order === 'asc' ? entries : entries.toReversed();
  const after = query.get('after');
  const at = after === null ? -1 : ordered.findIndex((entry) => idOf(entry) === after);
  if (after !== null && at < 0)
    throw fieldError('after', `is ${JSON.stringify(after)}, and there is no such ${noun} here, or no longer`);
  const rest = ordered.slice(at + 1);
  return { page: rest.slice(0, Number(limit)), hasMore: rest.length > Number(limit) };
}
