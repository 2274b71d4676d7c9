// The media of a prompt: which tokens take rows of which medium, the positions of all tokens, and what the prefix cache knows them by.

import type { MediaModel, Place, PlacedMedium } from '../../../models/media.ts';
import type { MediaTokens } from '../calls/text-model.ts';
import type { Medium } from './medium.ts';

/** Tokens from `first` to `end` - 1, which take the medium's rows from `row` on. */
export interface PlacedRun {
  medium: Medium;
  row: number;
  first: number;
  end: number;
}

export class PromptMedia {
  /** In order. */
  readonly runs: readonly PlacedRun[];
  /** Whether the tokens of a run of images see each other. */
  readonly spans: boolean;
  /** Whether rows are added to the embeddings of tokens. */
  readonly isAdded: boolean;
  readonly tokens: MediaTokens;
  /** Length of all sounds; 0: there are none. */
  readonly seconds: number;
  readonly #places: readonly Place[] | null;
  /** What is added to the index of a token behind the prompt for its position. */
  readonly #shift: number;

  /** `tokens`: number of tokens of the prompt. */
  constructor(
    tokens: number,
    runs: readonly PlacedRun[],
    { spans, places, added }: Pick<MediaModel, 'spans' | 'places' | 'added'>,
  ) {
    this.runs = runs;
    this.spans = spans !== false;
    this.isAdded = added === true;
    this.tokens = countTokens(runs, tokens);
    const media = new Set(runs.map(({ medium }) => medium));
    this.seconds = [...media].reduce((sum, { prepared }) => sum + (prepared.seconds ?? 0), 0);
    this.#places = places?.(tokens, placedMedia(runs)) ?? null;
    const last = this.#places?.reduce((most, place) => Math.max(most, ...place), -1) ?? tokens - 1;
    this.#shift = last + 1 - tokens;
  }

  /** Position of a token of the sequence, generated ones included. */
  readonly place = (token: number): Place => {
    const at = token + this.#shift;
    return this.#places?.[token] ?? [at, at, at];
  };

  /** Most tokens of a text with its reply: those to which rows are added. */
  get mostTokens(): number {
    return this.isAdded ? this.runs.at(-1)!.end : Infinity;
  }

  /** The runs that reach into the tokens from `first` to `end` - 1. */
  within(first: number, end: number): PlacedRun[] {
    return this.runs.filter((run) => run.first < end && run.end > first);
  }

  /** Whether the tokens of a run see each other; those of sounds never do. */
  isSpan({ medium }: PlacedRun): boolean {
    return this.spans && medium.kind !== 'audio';
  }

  /** What the prefix cache adds to the key of a page with these tokens: which rows of which media they take. */
  keyOf(first: number, count: number): string {
    return this.within(first, first + count)
      .map((run) => `\0${run.medium.key}:${run.row - run.first + first}`)
      .join('');
  }

  /**
   * Number of the rows from token `first` on that a step may compute: up to the first run without rows on the device, and to the beginning
   * of a run whose tokens see each other and which the step would divide.
   */
  chunk(first: number, rows: number, hasRows: (medium: Medium) => boolean): number {
    const end = first + rows;
    for (const run of this.within(first, end)) {
      if (!hasRows(run.medium)) return Math.max(0, run.first - first);
      if (this.isSpan(run) && run.end > end) return Math.max(0, run.first - first);
    }
    return rows;
  }

  /** The first medium, from token `first` on, whose rows are not on the device; null: none. */
  next(first: number, hasRows: (medium: Medium) => boolean): Medium | null {
    return this.runs.find(({ end, medium }) => end > first && !hasRows(medium))?.medium ?? null;
  }
}

/** `tokens`: number of tokens of the prompt. */
function countTokens(runs: readonly PlacedRun[], tokens: number): MediaTokens {
  const counts: MediaTokens = {};
  for (const { medium, first, end } of runs)
    counts[medium.kind] = (counts[medium.kind] ?? 0) + Math.min(end, tokens) - first;
  return counts;
}

/** One entry for each medium as it is shown, in order. */
function placedMedia(runs: readonly PlacedRun[]): PlacedMedium[] {
  const media: (PlacedMedium & { runs: PlacedRun[] })[] = [];
  for (const run of runs) {
    const { kind, prepared } = run.medium;
    if (run.row === 0) media.push({ kind, runs: [run], grid: prepared.grid });
    else media.at(-1)!.runs.push(run);
  }
  return media;
}
