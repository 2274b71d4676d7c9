// Weights of SVDQuant: a product in codes, of inputs that are smoothed, and beside it the product of two small matrices. A checkpoint has three
// tensors beside the weight of that name: `.down` [rank, k], `.up` [rows, rank], and, where inputs are smoothed, `.smooth` [2, k].

import { unsupported } from '../files/error.ts';
import type { StoredNames } from './input-orders.ts';

const DOWN = '.down';
/** Names of what several weights share. */
export const SHARED = /\.weight\.(down|smooth)$/;

/** The tensors beside the weights of one matrix. */
export interface LowRankNames {
  down: string;
  rank: number;
  /** One for each part. */
  ups: readonly string[];
  /** null: inputs are read as they are. */
  smooth: string | null;
}

/** null: the weights of these names stand alone. Throws unsupported where they do not share the matrix that reads their input. */
export function lowRankNames(names: readonly string[], stored: StoredNames): LowRankNames | null {
  const [name] = names as [string];
  const found = names.map((each) => stored.get?.(each + DOWN));
  const [first] = found;
  if (found.every((each) => each === undefined)) return null;
  const isShared = found.every((each) => each !== undefined && each.storedAs === first!.storedAs);
  if (!isShared || (names.length > 1 && first!.storedAs === undefined))
    throw unsupported(
      `${names.join(', ')} are multiplied together, and their low-rank parts read their input differently: choose another quantized checkpoint`,
      name,
    );
  return {
    down: name + DOWN,
    rank: first!.shape![0]!,
    ups: names.map((each) => `${each}.up`),
    smooth: stored.has(`${name}.smooth`) ? `${name}.smooth` : null,
  };
}
