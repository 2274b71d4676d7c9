// How the tokens after a draft's tokens are sampled: by masks, biases and penalties as they will be if the draft is right. The rows
// that follow a wrong token are dropped unread, and so is a row that was sampled under another restriction than the right one.

import { lookAhead, type Constraint } from '../calls/constraint.ts';
import type { TokenCounts } from './token-counts.ts';
import type { SampledRow, StepRequest } from '../step/step-part.ts';
import { bars, writeTokenMask, type MaskRules } from './token-mask.ts';

/** A sequence for which drafts are made. */
export interface DraftedSequence {
  readonly request: StepRequest & MaskRules;
  readonly progress: {
    readonly counts: TokenCounts | null;
    readonly generated: number;
    readonly forced: readonly number[];
  };
  readonly constraint: Constraint | null;
  readonly isConstrained: boolean;
}

/** The constraint at a row of the draft; each row advances it by its token when its mask is written, in order. */
interface Ahead {
  constraint: Constraint | null;
  /** Whether a token of the draft was refused, after which nothing is known. */
  isLost: boolean;
}

/** Returns the rows of a draft, or null if the constraint cannot look ahead. */
export function draftRows(sequence: DraftedSequence, ids: readonly number[]): DraftRow[] | null {
  const { constraint } = sequence;
  const copy = constraint && lookAhead(constraint);
  if (constraint !== null && copy === null) return null;
  const ahead: Ahead = { constraint: copy, isLost: false };
  return ids.map((_, nth) => new DraftRow(sequence, ahead, ids, nth));
}

export class DraftRow implements SampledRow {
  readonly request: StepRequest & MaskRules;
  readonly isConstrained: boolean;
  readonly progress: { readonly counts: { readonly pairs: Uint32Array } | null };
  readonly #ahead: Ahead;
  readonly #id: number;
  /** Generated tokens before the sampled one. */
  readonly #generated: number;
  readonly #forced: number | undefined;
  /** The part of the constraint that the row was sampled for. */
  #part: string | undefined;
  #isLost = false;

  constructor(sequence: DraftedSequence, ahead: Ahead, ids: readonly number[], nth: number) {
    const { counts, generated, forced } = sequence.progress;
    this.request = sequence.request;
    this.isConstrained = sequence.isConstrained && sequence.constraint?.free !== true;
    this.#ahead = ahead;
    this.#id = ids[nth]!;
    this.#generated = generated + nth + 1;
    this.#forced = forced[nth + 1];
    this.#part = sequence.constraint?.part;
    let pairs: Uint32Array | null = null;
    this.progress = {
      counts: counts && {
        get pairs() {
          return (pairs ??= counts.pairsWith(ids.slice(0, nth + 1)));
        },
      },
    };
  }

  /** See StepSequence. */
  get needsMask(): boolean {
    return this.isConstrained || this.request.allowed !== null;
  }

  /** See StepSequence. All tokens are allowed after a token that the constraint refuses: the row is never reached. */
  writeMask(into: Uint32Array): void {
    const ahead = this.#ahead;
    try {
      if (!ahead.isLost) return this.#write(into);
    } catch {
      ahead.isLost = true;
    }
    this.#isLost = true;
    into.fill(0xffffffff);
  }

  /** Whether the row was sampled as the sequence now demands. A constraint may have prescribed its token only after the draft's tokens. */
  isRightFor({ constraint, isConstrained, progress }: DraftedSequence): boolean {
    const isForeseen = progress.forced[0] === this.#forced && constraint?.part === this.#part;
    return !this.#isLost && isForeseen && isConstrained === this.isConstrained;
  }

  #write(into: Uint32Array): void {
    const { constraint } = this.#ahead;
    constraint?.accept(this.#id);
    this.#part = constraint?.part;
    const forced = this.#forced;
    const isBarred = forced !== undefined && bars(forced, constraint, this.request);
    const state = { constraint, forced: isBarred ? undefined : forced, generated: this.#generated };
    writeTokenMask(into, state, this.request);
  }
}
