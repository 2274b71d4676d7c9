// Interface of drafters, which propose the tokens that a sequence may generate next.

/** What a drafter reads of a sequence. */
export interface DraftSource {
  readonly request: {
    readonly speculative: boolean;
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

/** Tokens that may follow the known ones of a sequence. */
export interface Proposal {
  ids: readonly number[];
  /** Chance that each of them is right if those before it are, 0 to 1; as many as ids. */
  chances: readonly number[];
}

export interface Drafter {
  /** Proposes up to `most` tokens after the known ones; null: none. */
  propose(sequence: DraftSource, most: number): Proposal | null;
  /** Tells how many tokens of a proposal were right that the device has computed. */
  verified?(sequence: DraftSource, proposed: number, accepted: number): void;
  /** Called when a sequence has ended; perhaps more than once. */
  ended?(sequence: DraftSource): void;
}
