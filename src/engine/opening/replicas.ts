// The replicas of a model that has one device for each.

import { badRequest } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { RankPlace } from '../../gpu/find-adapter.ts';

export interface ReplicaOptions {
  numGpus?: number;
  dpSize?: number;
  logicalRanks?: boolean;
  /** Which of the replicas this model is, from 0; the host sets it. */
  replica?: number;
}

/** The number of replicas. */
export const replicaCount = ({ numGpus, dpSize = numGpus ?? 1 }: ReplicaOptions): number => dpSize;

/** Throws bad_request where replicas and GPUs differ in number. */
export function checkReplicas({ numGpus, dpSize }: ReplicaOptions): void {
  if (numGpus === undefined || dpSize === undefined || numGpus === dpSize) return;
  throw badRequest(
    say`${option('numGpus')} ${numGpus} is not ${option('dpSize')} ${dpSize}, and a replica of this model has one GPU: give one number for both, or leave one of them out`,
    'numGpus',
  );
}

/** The options with the place of the replica's device among those of all; one replica has none. */
export function withPlace<O extends ReplicaOptions>(options: O): O & { place?: RankPlace } {
  const ranks = replicaCount(options);
  const { replica: rank = 0, logicalRanks: isLogical = false } = options;
  return ranks === 1 ? options : { ...options, place: { rank, ranks, isLogical } };
}
