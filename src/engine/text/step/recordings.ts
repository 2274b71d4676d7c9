// The tapes of a text model: one for each capacity, and the same ones with LoRA adapters while there are any.

import type { Device } from '../../../gpu/device.ts';
import { TILE_ROWS, type LayerStore } from '../../../kernels/batch.ts';
import type { LoraHost } from '../lora-host.ts';
import type { StepSizes } from './batch-writer.ts';
import { forget, recordStep, tapesOf, type StepRecipe, type StepTapes } from './step-tapes.ts';

const SMALL_CAPACITIES = [1, 4, TILE_ROWS];

type Recipe = Omit<StepRecipe, 'rows' | 'stores' | 'rowAdapters'>;

export class Recordings {
  readonly #device: Device;
  readonly #recipe: Recipe;
  readonly #stores: readonly LayerStore[];
  readonly #capacities: readonly number[];
  readonly #loras: LoraHost;
  readonly #plain: StepTapes[];
  /** Separate tapes with LoRA adapters, so that steps without an adapter do not pay for them. */
  #adapted: StepTapes[];

  /** `rows`: the most rows of a step. */
  constructor(device: Device, recipe: Recipe, rows: number, stores: readonly LayerStore[], loras: LoraHost) {
    this.#device = device;
    this.#recipe = recipe;
    this.#stores = stores;
    this.#capacities = [...SMALL_CAPACITIES.filter((small) => small < rows), rows];
    this.#loras = loras;
    this.#plain = this.#record(false);
    this.#adapted = this.#recordAdapted();
    device.arena.settle();
  }

  get all(): StepTapes[] {
    return [...this.#plain, ...this.#adapted];
  }

  get tapes() {
    return this.all.flatMap(tapesOf);
  }

  /** Returns the smallest tapes that hold a step. */
  find(sizes: StepSizes, isAdapted: boolean): StepTapes {
    return (isAdapted ? this.#adapted : this.#plain).find(
      ({ forward: { capacity } }) => capacity['rows']! >= sizes.rows && capacity['sampled']! >= sizes.sampled,
    )!;
  }

  /** Records the tapes that bind LoRA factors again, after the factors have changed. */
  recordAdapted(): void {
    this.#adapted.forEach(forget);
    this.#adapted = this.#recordAdapted();
    this.#device.arena.settle();
  }

  destroy(): void {
    this.all.forEach(forget);
  }

  #recordAdapted(): StepTapes[] {
    return this.#loras.store.keys.length > 0 ? this.#record(true) : [];
  }

  #record(isAdapted: boolean): StepTapes[] {
    const rowAdapters = isAdapted ? this.#recipe.batch.adapters : null;
    return this.#capacities.map((rows) =>
      recordStep(this.#device, { ...this.#recipe, stores: this.#stores, rows, rowAdapters }),
    );
  }
}
