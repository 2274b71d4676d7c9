// Progress of a sequence: its tokens, which of them are computed, and which have not been read back from the device.

import type { TokenCounts } from '../speculation/token-counts.ts';

export class Progress {
  /** The prompt, then the generated tokens that have been read back. */
  readonly ids: number[];
  readonly promptTokens: number;
  /** How often each token was generated, for penalties; null if nothing depends on it. */
  readonly counts: TokenCounts | null;
  /** Positions whose keys and values are written by the steps submitted so far. */
  computed = 0;
  /** See StepSequence. It stays as it was decided at first, so that a token that is computed again gets the same state. */
  expandedEnd: number | null = null;
  /** Tokens that submitted steps sample and that have not been read back. */
  inFlight = 0;
  /** Most prompt tokens that were computed or found in the cache at any time: a retraction does not lower it. */
  processed = 0;
  /** Tokens of a draft that a submitted step computes behind the known ones; 0: none. No other step of the sequence is submitted meanwhile. */
  drafted = 0;
  /** Tokens of all drafts that steps have computed, and how many of them were right. */
  readonly drafts = { proposed: 0, accepted: 0 };
  /** Tokens that the constraint prescribes next; each waits for its forward pass. */
  forced: readonly number[] = [];
  finished = false;
  /** Times that the device was lost while the sequence ran. */
  losses = 0;

  constructor(prompt: readonly number[], counts: TokenCounts | null = null) {
    this.ids = [...prompt];
    this.promptTokens = prompt.length;
    this.counts = counts;
  }

  /** Generated tokens that have been read back. */
  get generated(): number {
    return this.ids.length - this.promptTokens;
  }

  /** Number of tokens when all submitted steps have been read back. */
  get expectedLength(): number {
    return this.ids.length + this.inFlight;
  }

  /** Tokens, those in flight included, whose keys and values are still to be computed. */
  get remaining(): number {
    return this.expectedLength - this.computed;
  }

  get isPromptComputed(): boolean {
    return this.computed >= this.promptTokens;
  }

  add(id: number): void {
    if (this.forced.length > 0) this.forced = this.forced.slice(1);
    this.ids.push(id);
    this.counts?.add(id);
  }

  /** Records how much of the prompt is computed or cached; returns the number of tokens, or null if it has not increased. */
  advance(): number | null {
    const processed = Math.min(this.computed, this.promptTokens);
    if (processed <= this.processed) return null;
    this.processed = processed;
    return processed;
  }
}
