// Placement of a sequence in the scheduler and on the device: its place in the queue, its slot, its KV pages, and the part of them
// that it shares through the prefix cache.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { CachedTokens } from '../calls/text-model.ts';
import type { PromptMedia } from '../towers/prompt-media.ts';
import type { CachedPage, PageNode } from './cached-page.ts';

/** What the cache needs to know of a sequence. */
export interface PlacedSequence {
  /** The request's first choice, whose prompt this one shares; null: this is the first. */
  readonly leader: PlacedSequence | null;
  readonly finished: boolean;
  readonly request: { readonly media?: Pick<PromptMedia, 'keyOf'> };
  /** `computed`: positions whose keys and values the submitted steps write. */
  readonly progress: {
    readonly ids: readonly number[];
    readonly promptTokens: number;
    readonly computed: number;
  };
  readonly placement: Placement;
}

export interface PageLoad {
  cached: CachedPage;
  bytes: Uint8Array;
}

/** Copies that a sequence makes of its fixed states, at page boundaries (see state-copies.ts). */
export class SequenceCopies {
  /** Numbers of pages after which a copy is wanted, in order. */
  cuts: number[] = [];
  /** Pages before the last copy that it made or started from. */
  last = 0;
  /** Whether other choices of the request begin with the prompt. */
  isShared = false;
  /** Least pages between copies inside the prompt. */
  interval = Infinity;
  /** The copy of the last page that generated tokens have filled; null: none. */
  tail: CachedPage | null = null;
}

/** A sequence as the prefix cache sees it. */
export class SequencePrefix {
  /** Pages are shared only within one scope: same LoRA, salt and rotary frequencies. */
  readonly scope: string;
  /** Positions from here on are never shared, because their rotary frequencies differ from the prompt's. */
  readonly shareable: number;
  /** Positions from here on are always computed, even if the cache has them. */
  readonly findable: number;
  /** Keys of the sequence's full pages, as far as they have been needed (see `keysOf`). */
  readonly keys: string[] = [];
  /** Nodes of its shared pages, in order of position. */
  nodes: PageNode[] = [];
  readonly copies = new SequenceCopies();
  /** The shared pages whose bytes have not been written to the device yet. */
  loads: PageLoad[] = [];
  /** Prompt tokens that the cache had when the sequence first ran; null before. */
  found: CachedTokens | null = null;
  /** Prompt pages that were fetched from storage for this sequence: the first, and one past the last. */
  fetched: [first: number, end: number] = [0, 0];

  constructor(scope: string, shareable: number, findable = Infinity) {
    this.scope = scope;
    this.shareable = shareable;
    this.findable = findable;
  }
}

export class Placement {
  readonly prefix: SequencePrefix;
  /** Order of arrival at the scheduler: lower numbers arrived earlier. */
  arrival = 0;
  /** Times that a later arrival of the same priority was admitted first. */
  passed = 0;
  /** Slot in which the device keeps the last sampled token; null while the sequence waits. */
  slot: number | null = null;
  /** KV pages of each group of layers in order of position: those of `prefix.nodes` first, then the sequence's own. */
  tables: number[][] = [];
  /**
   * Pages of each group, from the first, that the sequence has given back because no query can see them; their numbers still stand in
   * the tables.
   */
  passedPages: number[] = [];

  constructor(prefix: SequencePrefix) {
    this.prefix = prefix;
  }

  /** Tokens that the pages have room for. */
  get room(): number {
    return this.length * PAGE_TOKENS;
  }

  /** Entries of each table. */
  get length(): number {
    return this.tables[0]?.length ?? 0;
  }

  /** Whether bytes are still to be written to some of its pages. */
  get isLoading(): boolean {
    return this.prefix.loads.length > 0;
  }

  /** Drops the pages and what the prefix cache lent, without giving anything back. */
  forgetPages(): void {
    this.tables = [];
    this.passedPages = [];
    this.prefix.nodes = [];
    this.prefix.loads = [];
  }
}
