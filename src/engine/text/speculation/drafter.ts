// Interface of drafters, which propose the tokens that a sequence may generate next.

import type { DraftPart, RunnerDrafts } from '../step/runner-drafts.ts';

/** The part of a sequence that a drafter reads. */
export interface DraftSource {
  readonly request: {
    readonly speculative: boolean;
    /** Token ids of what the reply may be; [] if the request tells nothing. */
    readonly predicted: readonly number[];
    /** Whether other requests may be served what was computed for this one. */
    readonly isShared: boolean;
  };
  readonly progress: {
    /** The prompt, then the generated tokens that have been read back. */
    readonly ids: readonly number[];
    readonly promptTokens: number;
    /** Tokens after `ids` that the device is computing. */
    readonly inFlight: number;
  };
}

/** Rows of a step whose states are final: tokens of a sequence from `first` on. */
export interface ToldPart {
  readonly sequence: DraftSource & {
    readonly placement: Pick<DraftPart, 'tables'> & { readonly passedPages: readonly number[] };
    readonly request: { readonly media?: Required<Pick<DraftPart, 'place'>> | null | undefined };
  };
  /** Row of the step that computed `first`. */
  readonly row: number;
  readonly first: number;
  readonly rows: number;
}

/** Tokens that may follow the known ones of a sequence. */
export interface Proposal {
  ids: readonly number[];
  /** Chance that each of them is right if those before it are, 0 to 1; as many as ids. */
  chances: readonly number[];
}

export interface Drafter {
  /** Whether each step is planned after the one before it was read, because the drafter is told of it; left out: no. */
  readonly isSequential?: boolean;
  /** Tells it what the last step computed, before the next one is planned. `most`: limit on the tokens of a draft. */
  prepare?(told: readonly ToldPart[], drafts: RunnerDrafts, most: number): Promise<void>;
  /** Proposes up to `most` tokens after the known ones; null: none. */
  propose(sequence: DraftSource, most: number): Proposal | null;
  /** Tells how many tokens of a proposal were right that the device has computed. */
  verified?(sequence: DraftSource, proposed: number, accepted: number): void;
  /** Called when a sequence has ended; perhaps more than once. */
  ended?(sequence: DraftSource): void;
}
