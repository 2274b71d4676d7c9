// Which two tokens make a third, and in what order: by a list of merges, or by the ids of a vocabulary that is sorted by rank.

import { PairTable } from './pair-table.ts';

export interface Merges {
  /** The rank of two neighbours' merge; -1: they are not merged. */
  rankOf(left: number, right: number): number;
  /** The token that a merge makes. */
  made(rank: number): number;
}

/** The value of `merges` for a vocabulary without a list: two tokens merge where their joined text is a token, and the merge with the lowest id comes first. */
export const BY_ID = 'by-id';

/** Throws plain errors that say what is wrong with the file. */
export function readMerges(config: Record<string, unknown>, ids: ReadonlyMap<string, number>): Merges {
  const given = config['merges'];
  if (given === BY_ID) return mergesById(ids);
  if (!Array.isArray(given)) throw new Error('the model has no list of merges');
  const dropped =
    typeof config['continuing_subword_prefix'] === 'string' ? config['continuing_subword_prefix'].length : 0;
  const ranks = new PairTable(given.length);
  const made = new Int32Array(given.length);
  for (let rank = 0; rank < given.length; rank++) {
    const merge: unknown = given[rank];
    const pair: unknown = typeof merge === 'string' ? merge.split(' ') : merge;
    const isPair = Array.isArray(pair);
    // Some published files contain merges in which a converter replaced no-break spaces by plain ones.
    if (typeof merge === 'string' && isPair && pair.length > 2) continue;
    const left: unknown = isPair ? pair[0] : undefined;
    const right: unknown = isPair ? pair[1] : undefined;
    if (typeof left !== 'string' || typeof right !== 'string') {
      throw new Error(`merge ${rank + 1} is ${JSON.stringify(merge)} instead of two tokens`);
    }
    const a = ids.get(left);
    const b = ids.get(right);
    const both = ids.get(left + (dropped === 0 ? right : right.slice(dropped)));
    if (a === undefined || b === undefined || both === undefined) {
      throw new Error(`merge ${rank + 1} is ${JSON.stringify([left, right])}, which the vocabulary lacks`);
    }
    ranks.set(a, b, rank);
    made[rank] = both;
  }
  return { rankOf: (left, right) => ranks.get(left, right), made: (rank) => made[rank]! };
}

/** A merge's rank is the id that it makes. */
function mergesById(ids: ReadonlyMap<string, number>): Merges {
  const texts: string[] = [];
  for (const [text, id] of ids) texts[id] = text;
  return { rankOf: (left, right) => ids.get(texts[left]! + texts[right]!) ?? -1, made: (rank) => rank };
}
