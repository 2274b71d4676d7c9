// Counts and matrices that several devices divide among themselves, and those that they do not.

import { badRequest } from '../files/error.ts';
import { option, say } from '../files/message.ts';
import type { DevicePart } from './weight-requests.ts';

/** Words for counts whose names in a page are not those of users. */
const WORDS: Readonly<Record<string, string>> = {
  heads: 'heads of attention',
  kvHeads: 'heads of keys and values',
  ffn: 'columns of the feed-forward part',
};

/** A device's part of a count. Throws bad_request for one that the number of devices does not divide. */
export function partOfCount(name: string, count: unknown, ranks: number): number {
  if (typeof count !== 'number') throw new Error(`${name} is not a count that devices divide`);
  if (count % ranks === 0) return count / ranks;
  throw badRequest(
    say`a block has ${count} ${WORDS[name] ?? name}, which ${option('tpSize')} ${ranks} does not divide: give a number that divides ${count}, or leave ${option('tpSize')} out`,
    'tpSize',
  );
}

/** Throws bad_request for a matrix in codes with a low-rank part beside it. */
export function refuseLowRank(name: string, { ranks }: DevicePart): never {
  throw badRequest(
    say`${name} has a low-rank part beside its codes (SVDQuant), which ${option('tpSize')} ${ranks} does not divide: leave out ${option('tpSize')} or the low-rank part`,
    'tpSize',
  );
}
