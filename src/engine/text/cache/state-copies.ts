// Copies of the layers' fixed states (convolutional and recurrent layers) in the prefix cache. A sequence can only continue from a
// position whose state was copied, so copies decide which prefixes are found. They are large, so few of them are made:
//
// - at the end of the prompt's last full page, and where the prompt leaves what the cache holds or what another prompt computes,
//   since other prompts are likely to leave it there, too: the prefill is cut at these boundaries, unless that saves fewer than
//   LEAST_GAIN pages and no other choice of the request begins there;
// - inside a long prompt every INTERVAL pages or more, so that one prompt takes a quarter of the places at most: all its chunks end
//   between pages;
// - during generation whenever a page is full. It replaces the sequence's previous copy of this kind, and is saved to slower tiers when
//   the sequence is released.
//
// Copies have places of their own on the device, and the least recently used one is evicted. A sequence that starts behind a copy gets
// it in its slot; the choices of a request and retracted sequences do so, too.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { CachedPage, PageNode } from './cached-page.ts';
import { PagePool } from '../kv/pages.ts';
import type { PlacedSequence, SequenceCopies } from './placement.ts';
import type { StateMove } from '../kv/state-mover.ts';
import type { PrefixTree } from './prefix-tree.ts';

/** Least pages between two copies for which the prefill is cut: the cut costs a step. */
const LEAST_GAIN = 2;
/** Least pages between copies inside a long prompt. */
const INTERVAL = 32;

export class StateCopies {
  readonly #tree: PrefixTree;
  #pool: PagePool;
  #moves: StateMove[] = [];
  /** Copies that the moves write. */
  #written: CachedPage[] = [];

  /** `places`: copies that the device has room for. */
  constructor(tree: PrefixTree, places: number) {
    this.#tree = tree;
    this.#pool = new PagePool(places);
  }

  /** Places that are not in use. */
  get free(): number {
    return this.#pool.free;
  }

  give(place: number): void {
    this.#pool.give([place]);
  }

  /** Starts a sequence behind the nodes of its prefix. `known`: pages of it that the cache has, with a copy of the states or without. */
  begin({ placement, progress }: PlacedSequence, path: readonly PageNode[], known: number): void {
    const { prefix, slot } = placement;
    const prompt = Math.min(progress.promptTokens - 1, prefix.shareable);
    const pages = Math.floor(prompt / PAGE_TOKENS);
    const { copies } = prefix;
    copies.cuts = [];
    copies.last = path.length;
    copies.tail = null;
    copies.interval = Math.max(INTERVAL, Math.ceil(pages / Math.max(1, this.#pool.total >> 2)));
    addCut(copies, known, path.length);
    addCut(copies, pages, path.length, copies.isShared ? 1 : LEAST_GAIN);
    const state = path.at(-1)?.state;
    if (state) this.#restore(state, slot!);
  }

  /**
   * Number of the next `rows` rows of a sequence that a step may compute, so that it ends where a copy is wanted, and within a prompt between
   * pages, where chunks of scans end. `mayWait`: a step that has no room for a page leaves the prompt to a later one.
   */
  chunk({ placement, progress }: PlacedSequence, rows: number, mayWait = false): number {
    const { cuts } = placement.prefix.copies;
    const first = progress.computed;
    const end = first + rows;
    const cut = cuts.find((pages) => pages * PAGE_TOKENS > first);
    if (cut !== undefined && cut * PAGE_TOKENS < end) return cut * PAGE_TOKENS - first;
    if (end >= progress.promptTokens) return rows;
    const whole = Math.floor(end / PAGE_TOKENS) * PAGE_TOKENS - first;
    if (whole > 0) return whole;
    return mayWait ? 0 : rows;
  }

  /** Copies the states of a sequence if the submitted steps end where a copy is wanted; its full pages have been shared. */
  save({ placement, progress }: PlacedSequence): void {
    const { computed, promptTokens } = progress;
    const { nodes, copies } = placement.prefix;
    if (computed % PAGE_TOKENS !== 0) return;
    const pages = computed / PAGE_TOKENS;
    if (pages <= copies.last || pages !== nodes.length) return;
    const isInPrompt = computed < promptTokens;
    const isLasting = copies.cuts.includes(pages) || (isInPrompt && pages - copies.last >= copies.interval);
    if (isInPrompt && !isLasting) return;
    if (!isLasting) this.#dropTail(copies);
    copies.last = pages;
    const state = nodes.at(-1)!.state!;
    if (state.page !== null) return;
    const place = this.#take();
    if (place === undefined) return;
    this.#move(state, place, { slot: placement.slot! }, isLasting);
    if (!isLasting) copies.tail = state;
  }

  /** Whether a running sequence is about to copy its states after `first` pages and not after `end`; it is made to do so at `end`. */
  expects({ placement, progress }: PlacedSequence, first: number, end: number): boolean {
    const { copies } = placement.prefix;
    if (end * PAGE_TOKENS > progress.computed) addCut(copies, end, first);
    return copies.cuts.some((at) => at > first && at <= end && at * PAGE_TOKENS > progress.computed);
  }

  /** The sequence gives its slot back: its last copy stays in the cache. */
  settle({ placement }: PlacedSequence): void {
    const { copies } = placement.prefix;
    if (copies.tail) this.#tree.settle(copies.tail);
    copies.tail = null;
  }

  /** Returns and removes the copies that must precede the planned step, in order. */
  takeMoves(): StateMove[] {
    const taken = this.#moves;
    for (const state of this.#written) state.loading = false;
    this.#moves = [];
    this.#written = [];
    return taken;
  }

  /** Starts afresh after the device was lost. */
  reset(): void {
    this.takeMoves();
    this.#pool = new PagePool(this.#pool.total);
  }

  #restore(state: CachedPage, slot: number): void {
    if (state.page === null) {
      const bytes = state.host!;
      const place = this.#take();
      if (place === undefined) {
        this.#moves.push({ from: { bytes }, to: { slot } });
        return;
      }
      this.#move(state, place, { bytes }, true);
    }
    this.#moves.push({ from: { copy: state.page! }, to: { slot } });
  }

  #move(state: CachedPage, place: number, from: StateMove['from'], isLasting: boolean): void {
    state.loading = true; // its place is not given to another copy before this one is made
    this.#tree.place(state, place, isLasting);
    this.#written.push(state);
    this.#moves.push({ from, to: { copy: place } });
  }

  /** Evicts a copy if no place is free; undefined: copies are still to be made in all of them. */
  #take(): number | undefined {
    if (this.#pool.free === 0) this.#tree.evictStates(1);
    return this.#pool.take();
  }

  #dropTail(copies: SequenceCopies): void {
    const { tail } = copies;
    copies.tail = null;
    if (tail && tail.page !== null && !tail.loading) this.#tree.drop(tail);
  }
}

/** Adds a boundary to those where a copy is wanted, unless one less than `gain` pages before it does; `first`: pages before all. */
function addCut({ cuts }: SequenceCopies, at: number, first: number, gain = LEAST_GAIN): void {
  const before = cuts.findLast((cut) => cut <= at) ?? first;
  if (at - before < gain) return;
  cuts.push(at);
  cuts.sort((a, b) => a - b);
}
