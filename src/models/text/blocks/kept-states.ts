// What a decoder's layers keep between steps: pages of keys and values, a fixed state, both, or nothing.

import type { Tensor } from '../../../gpu/tensor.ts';
import { storedHead } from '../../../kernels/resize-heads.ts';
import type { HeadShape, KvPages, LayerStore, StateSlots } from '../../../kernels/batch.ts';
import type { LayerState } from './architecture.ts';

/** What of a layer says what it keeps. */
export interface KeepingLayer {
  /** Number of tokens that the layer sees; null: all. */
  window: number | null;
  /** Heads of the layer; left out: those of the model. */
  heads?: HeadShape;
  /** Index of the earlier layer whose keys and values it reads; left out: it has its own. */
  shares?: number;
  /** f32 values of the layer's fixed state; left out: it has none. */
  slot?: number;
  /**
   * Dimensions of keys beside its own by which it chooses the tokens that it sees; `shared`: it sees those that the last layer before it chose; left
   * out: it sees all.
   */
  index?: number | 'shared';
  /** Whether the layer keeps KV pages; left out: unless it has a fixed state. */
  pages?: boolean;
}

/** What the last layer that chose tokens left for those behind it: as `attention` takes them, null: all; none before the first one. */
export interface LastChoice {
  chosen?: Tensor | null;
}

/** What a layer reads and writes. */
export type KeptState =
  | LayerStore
  | { kind: 'indexed'; pages: KvPages; index: KvPages | null; last: LastChoice }
  | { kind: 'both'; pages: KvPages; slots: StateSlots }
  | { kind: 'none' };

/** The states that a layer declares, in their order. */
export function statesOf(layer: KeepingLayer, heads: HeadShape): LayerState[] {
  const { window, slot, shares, index, heads: own = heads } = layer;
  if (shares !== undefined) return [{ kind: 'shared', layer: shares }];
  const pages: LayerState = {
    ...{ kind: 'kv', kvHeads: own.kvHeads, dims: storedHead(own), window },
    ...(own.alibi && { floats: true }),
    ...(own.valueDims !== undefined && { latent: true }),
  };
  const slots: LayerState[] = slot === undefined ? [] : [{ kind: 'slot', values: slot }];
  const keys: LayerState[] =
    typeof index === 'number' ? [{ kind: 'kv', kvHeads: 1, dims: index, window: null, latent: true }] : [];
  return keepsPages(layer) ? [pages, ...keys, ...slots] : slots;
}

/** What each layer keeps in one recording, of the stores of all declared states. */
export function keptStates(layers: readonly KeepingLayer[], stores: readonly LayerStore[]): KeptState[] {
  let next = 0;
  const last: LastChoice = {};
  return layers.map((layer) => {
    const first = stores[next]!;
    if (layer.slot === undefined && !keepsPages(layer)) return { kind: 'none' };
    next++;
    if (layer.index !== undefined) {
      const index = layer.index === 'shared' ? null : stores[next++];
      if (first.kind !== 'kv' || (index !== null && index?.kind !== 'kv'))
        throw new Error(`a layer that chooses tokens has ${first.kind} and ${index?.kind ?? 'nothing'}`);
      return { kind: 'indexed', pages: first, index, last };
    }
    if (layer.slot === undefined || !keepsPages(layer)) return first;
    const second = stores[next++];
    if (first.kind !== 'kv' || second?.kind !== 'slot')
      throw new Error(`a layer with pages and slots has ${first.kind} and ${second?.kind ?? 'nothing'}`);
    return { kind: 'both', pages: first, slots: second };
  });
}

const keepsPages = ({ pages, slot }: KeepingLayer): boolean => pages ?? slot === undefined;

/** The pages of the module `name`. */
export function pagesOf(kept: KeptState, name: string): KvPages {
  const pages = kept.kind === 'both' || kept.kind === 'indexed' ? kept.pages : kept;
  if (pages.kind !== 'kv')
    throw new Error(`${name} keeps keys and values in pages, and its layer has ${kept.kind}`);
  return pages;
}

/** The slots of the module `name`. */
export function slotsOf(kept: KeptState, name: string): StateSlots {
  const slots = kept.kind === 'both' ? kept.slots : kept;
  if (slots.kind !== 'slot')
    throw new Error(`${name} keeps its state in a slot, and its layer has ${kept.kind}`);
  return slots;
}
