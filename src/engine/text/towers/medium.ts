// A medium of a conversation: what its processor made of it, under a key that equal media share.

import type { MediaKind, PreparedMedium, TokenRun } from '../../../models/media.ts';

export interface Medium {
  kind: MediaKind;
  /** Hash of the medium's bytes, its kind and the limits on its tiles. */
  key: string;
  prepared: PreparedMedium;
}

/** Number of tokens that take rows of the tower. */
export function rowsOf({ prepared: { parts, rows } }: Medium): number {
  if (rows !== undefined) return rows;
  return parts.reduce<number>((sum, part) => sum + (typeof part === 'string' ? 0 : runOf(part, '').rows), 0);
}

/** A run among the parts of what stands for a medium, by default of the medium's token. */
export function runOf<Token extends string | number>(
  part: number | TokenRun,
  token: Token,
): { token: Token | string; rows: number } {
  return typeof part === 'number' ? { token, rows: part } : part;
}

/** Bytes of what a processor made. */
export function bytesOf({ prepared: { inputs } }: Medium): number {
  return Object.values(inputs).reduce((sum, { data }) => sum + data.byteLength, 0);
}
