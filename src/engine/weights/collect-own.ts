// A page's requests on one of several devices that divide matrices, checked against the checkpoint, and the tensors that they read.

import type { ConfigSource } from '../../files/checkpoint/opened-checkpoint.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { DevicePart, WeightTable } from '../../models/weights.ts';
import { checkRequests } from './check.ts';
import { collect, type Collected } from './collect.ts';
import { ownTensors } from './own-tensors.ts';
import type { UnreadModules } from './unread.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

interface Own<Page> {
  collected: Collected<Page>;
  /** The device's parts of the tensors that are divided, and all others. */
  own: Tensors;
  unread: UnreadModules;
}

/**
 * Throws like checkRequests, about whole tensors; bad_request for what the number of devices does not divide, and for formats that are not
 * divided.
 */
export function collectOwn<Page>(
  tensors: Tensors,
  build: (weights: WeightTable) => Page,
  part: DevicePart | undefined,
  source?: ConfigSource,
): Own<Page> {
  const whole = collect(tensors, build);
  const unread = checkRequests(whole, tensors, source);
  if (part === undefined || part.ranks === 1) return { collected: whole, own: tensors, unread };
  const collected = collect(tensors, build, part);
  return { collected, own: ownTensors(tensors, collected.requests), unread };
}

/** Whether devices divide what a page requests. */
export const isDivided = ({ requests }: Pick<Collected<unknown>, 'requests'>): boolean =>
  requests.some(({ division }) => division !== undefined);

/** Suffix of a cache entry that holds the packed weights of one device's part; empty for whole weights. */
export const markOf = (part: DevicePart | undefined): string =>
  part ? `-${part.rank}-of-${part.ranks}` : '';
