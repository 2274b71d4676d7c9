// Weights of pages that are kept between stages, on the device or as copies in host memory, with the changes that LoRAs made to them.

import { differingNames, type WeightChanges } from '../../weights/change.ts';
import type { Weights } from '../../weights/weights.ts';
import type { Residency } from './residency.ts';

/** Weights of a page of the component `name`. */
export interface Kept {
  name: string;
  weights: Weights<unknown>;
  residency: Residency;
  /** Changes that the weights have. */
  changes: WeightChanges;
}

export class KeptWeights {
  readonly #kept = new Map<string, Kept>();

  get(key: string): Kept | undefined {
    return this.#kept.get(key);
  }

  set(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
  }

  free(): void {
    for (const { weights } of this.#kept.values()) weights.free();
    this.#kept.clear();
  }

  /** Frees all, and resolves once no file of theirs is open. */
  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    this.free();
    await Promise.all(all.map(({ weights }) => weights.closeFile()));
  }

  /** Frees weights that are elsewhere than `residencyOf` says. */
  reside(residencyOf: (name: string) => Residency): void {
    for (const [key, { name, weights, residency }] of this.#kept) {
      if (JSON.stringify(residencyOf(name)) === JSON.stringify(residency)) continue;
      weights.free();
      this.#kept.delete(key);
    }
  }

  /**
   * Returns weights with these changes; null: none are kept. Tensors whose changes differ are read again, so that their bits never
   * depend on earlier changes. `unread`: for planning, nothing is read. After an error the weights are freed.
   */
  async changed(key: string, changes: WeightChanges, unread: boolean): Promise<Kept | null> {
    const known = this.#kept.get(key);
    if (!known) return null;
    const differing = differingNames(known.changes, changes);
    if (differing.size === 0) return known;
    const { weights, residency } = known;
    this.#kept.delete(key);
    try {
      if (residency.kind === 'resident' || weights.areBeside(differing)) {
        await weights.reload(differing, changes, { unread });
        const kept = { ...known, changes };
        this.#kept.set(key, kept);
        return kept;
      }
    } catch (error) {
      weights.free();
      throw error;
    }
    // Copies in host memory are made when weights are loaded.
    weights.free();
    return null;
  }
}
