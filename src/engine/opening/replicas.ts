// The replicas of a model, and the places of their devices among all.

import { badRequest } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { RankPlace } from '../../gpu/find-adapter.ts';

export interface ReplicaOptions {
  numGpus?: number;
  dpSize?: number;
  /** Devices that a replica is divided among; left out: 1. */
  tpSize?: number;
  logicalRanks?: boolean;
  /** Which of the replicas this model is, from 0; the host sets it, and callers cannot. */
  replica?: number;
}

/** The number of replicas. */
export const replicaCount = ({ numGpus, tpSize = 1, dpSize }: ReplicaOptions): number =>
  dpSize ?? (numGpus === undefined ? 1 : numGpus / tpSize);

/** Throws bad_request where replicas and GPUs differ in number. */
export function checkReplicas({ numGpus, dpSize, tpSize = 1 }: ReplicaOptions): void {
  if (numGpus === undefined) return;
  if (dpSize === undefined ? numGpus % tpSize === 0 : numGpus === dpSize * tpSize) return;
  const [replicas, remedy] =
    dpSize === undefined
      ? ['a multiple of', 'a multiple']
      : [say`${option('dpSize')} ${dpSize} times`, 'the product'];
  const each =
    tpSize === 1 ? say`1, the GPUs of a replica of this model` : say`${option('tpSize')} ${tpSize}`;
  throw badRequest(
    say`${option('numGpus')} ${numGpus} is not ${replicas} ${each}: give ${remedy}, or leave it out`,
    'numGpus',
  );
}

/** The options with the place of a device of the replica among those of all; a single device has none. */
export function withPlace<O extends ReplicaOptions>(options: O, own = 0): O & { place?: RankPlace } {
  const { replica = 0, tpSize = 1, logicalRanks: isLogical = false } = options;
  const ranks = replicaCount(options) * tpSize;
  const rank = replica * tpSize + own;
  return ranks === 1 ? options : { ...options, place: { rank, ranks, isLogical } };
}
