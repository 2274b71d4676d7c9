// Drafts by looking up (prompt lookup): where the last tokens occurred before in the sequence, it may go on as it did there. Each
// proposal is compared with the tokens that come, whether the device computes it or not, so that its chances are known beforehand.

import { Acceptance } from './acceptance.ts';
import type { Drafter, DraftSource, Proposal } from './drafter.ts';
import { NgramIndex, type Match } from './ngram-index.ts';
import type { RecentTexts } from './recent-texts.ts';

/** Lengths of a match from which on a class of chances begins, and the chance that each class begins with. */
const CLASSES = [
  [2, 0.3],
  [3, 0.4],
  [5, 0.6],
  [9, 0.75],
  [17, 0.9],
] as const;

/** A prediction counts as if so many tokens before it had agreed. */
const ASSUMED_MATCH = 5;

export class NgramDrafter implements Drafter {
  readonly #texts = new WeakMap<DraftSource, FollowedText>();
  /** Chances in all sequences, which a new sequence begins with. */
  readonly #chances = CLASSES.map(([, chance]) => new Acceptance(chance));
  readonly #recent: RecentTexts | null;

  /** `recent`: texts of other sequences that are looked up, too; null: none are. */
  constructor(recent: RecentTexts | null = null) {
    this.#recent = recent;
  }

  propose(sequence: DraftSource, most: number): Proposal | null {
    let text = this.#texts.get(sequence);
    const recent = sequence.request.isShared ? this.#recent : null;
    if (!text) {
      const { predicted } = sequence.request;
      this.#texts.set(sequence, (text = new FollowedText(this.#chances, recent, predicted)));
    }
    text.follow(sequence.progress.ids);
    return text.propose(most);
  }

  ended(sequence: DraftSource): void {
    const { ids, promptTokens } = sequence.progress;
    if (this.#texts.delete(sequence) && sequence.request.isShared) this.#recent?.add(ids.slice(promptTokens));
  }
}

class FollowedText {
  readonly #index = new NgramIndex();
  readonly #overall: readonly Acceptance[];
  readonly #own: readonly Acceptance[];
  readonly #recent: RecentTexts | null;
  /** Where the text goes on as it did before, and the index that has the place. */
  #match: (Match & { index: NgramIndex }) | null = null;
  /** What the request says that the reply may be; null: nothing. */
  readonly #predicted: NgramIndex | null;
  #isPrompt = true;

  constructor(overall: readonly Acceptance[], recent: RecentTexts | null, predicted: readonly number[]) {
    this.#overall = overall;
    this.#predicted = predicted.length > 0 ? new NgramIndex() : null;
    for (const id of predicted) this.#predicted!.add(id);
    this.#own = overall.map(({ chance }) => new Acceptance(chance));
    this.#recent = recent;
  }

  /** Takes the tokens that have come since the last call. */
  follow(ids: readonly number[]): void {
    const { tokens } = this.#index;
    while (tokens.length < ids.length) this.#add(ids[tokens.length]!);
    // The reply is expected to begin as its prediction does.
    if (this.#isPrompt && this.#predicted)
      this.#match = { at: 0, length: ASSUMED_MATCH, index: this.#predicted };
    this.#isPrompt = false;
    this.#match ??= this.#find();
  }

  propose(most: number): Proposal | null {
    const match = this.#match;
    if (match === null) return null;
    const ids: number[] = [];
    const chances: number[] = [];
    for (let i = 0; i < most; i++) {
      // Beyond the end of the text a period of it is repeated.
      const id =
        match.index.tokens[match.at + i] ??
        (match.index === this.#index ? ids[match.at + i - match.index.tokens.length] : undefined);
      if (id === undefined || id < 0) break;
      ids.push(id);
      chances.push(this.#own[classOf(match.length + i)]!.chance);
    }
    return ids.length === 0 ? null : { ids, chances };
  }

  #add(id: number): void {
    const match = this.#match;
    if (match !== null) {
      const isRight = match.index.tokens[match.at] === id;
      const at = classOf(match.length);
      this.#own[at]!.add(isRight);
      this.#overall[at]!.add(isRight);
      this.#match = isRight ? { ...match, at: match.at + 1, length: match.length + 1 } : null;
    }
    this.#index.add(id);
    // Tokens of the prompt are only remembered: nothing was to be drafted there.
    if (!this.#isPrompt) this.#match ??= this.#find();
  }

  #find(): (Match & { index: NgramIndex }) | null {
    const { tokens } = this.#index;
    let best: (Match & { index: NgramIndex }) | null = null;
    for (const index of [this.#predicted, this.#index]) {
      const match = index?.find(tokens);
      if (match && match.length > (best?.length ?? 0)) best = { ...match, index: index! };
    }
    const other = this.#recent?.find(tokens) ?? null;
    return other !== null && other.length > (best?.length ?? 0) ? other : best;
  }
}

function classOf(length: number): number {
  return Math.max(
    0,
    CLASSES.findLastIndex(([from]) => length >= from),
  );
}
