// The tapes of a text model: one for each capacity, and the same ones with LoRAs while there are any.

import type { Device } from '../../../gpu/device.ts';
import { TILE_ROWS, type LayerStore, type TextBatch } from '../../../kernels/batch.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { RowKinds } from '../../../gpu/tape-options.ts';
import type { Sizes, Tensor } from '../../../gpu/tensor.ts';
import { expandedPages, type ExpandedCapacity } from '../../../kernels/latent-expansion.ts';
import type { LanguageModel, TakenStates } from '../../../models/text/blocks/architecture.ts';
import { compileNext, compileTapes, type OnKernels } from '../../tuning/compile.ts';
import { tune, type Tuned, type TuneOptions } from '../../tuning/tune.ts';
import type { DeviceLoras } from '../lora/lora-host.ts';
import type { Phase } from './step-part.ts';
import type { BatchWriter, StepSizes } from './batch-writer.ts';
import type { PromptReader } from './prompt-logprobs.ts';
import type { RecordedSampling, Sampler } from './sampler.ts';
import { writeTypicalStep, type StepMemory } from './typical-step.ts';

/** Steps without a pause in which kernels could be compiled, after which they are compiled by the step that needs them. */
const MOST_DEFERRED = 64;
/** Most steps of few rows in which a prompt is computed while kernels of many are not compiled. */
const MOST_SHORT = 4;
/** Most rows of a decode step that always uses the products of decode rows, even without batch invariance. */
export const SLICED_ROWS = TILE_ROWS;
/** Capacities of steps of many decode rows. There are several because the tiles of a product are chosen for the capacity. */
const MANY_CAPACITIES = [32, 64, 128];

/** Tapes that a step of a given capacity replays. */
export interface StepTapes {
  phase: Phase | null;
  forward: Tape;
  sampling: RecordedSampling;
  /** Tape of the head for log probabilities of prompts. */
  head: Tape;
  /** States of all rows that a draft model takes; null: none are taken. */
  taken: Tensor | null;
}

interface StepRecipe {
  model: LanguageModel;
  sampler: Sampler;
  prompts: PromptReader;
  batch: TextBatch;
  stores: readonly LayerStore[];
  rows: number;
  slots: number;
  /** KV pages of the longest context. */
  contextPages: number;
  /** Pages that steps of prompts may expand; null: none. */
  expanded: ExpandedCapacity | null;
  rowLoras: TextBatch['adapters'] | null;
  /** The phase of all rows; null: kernels do not tell phases apart. */
  phase: Phase | null;
  /** See gpu/tape-options.ts. */
  promptProducts: boolean;
  /** States that a draft model takes; null: none. */
  taken: TakenStates | null;
}

type Recipe = Omit<StepRecipe, 'rows' | 'stores' | 'rowLoras' | 'phase' | 'promptProducts'>;

/** The capacity of a tape, the phase of the rows that it computes, and the kernels of their products. */
type Recorded = Pick<StepRecipe, 'rows' | 'phase' | 'promptProducts'>;

/** Sizes of the steps that tapes are recorded for. */
export interface RecordedSteps {
  /** The most rows of a step. */
  rows: number;
  /** Whether a decode row is computed alike whatever runs beside it; otherwise steps of many take the kernels that are fastest for them. */
  batchInvariance: boolean;
}

export class Recordings {
  readonly #device: Device;
  readonly #recipe: Recipe;
  readonly #stores: readonly LayerStore[];
  readonly #recorded: readonly Recorded[];
  /** See TextRunner.decodeRows. */
  readonly decodeRows: number | null;
  readonly #loras: DeviceLoras;
  readonly #plain: StepTapes[];
  /** Separate tapes, so that steps without a LoRA do not pay for them. */
  #adapted: StepTapes[];
  /** Those whose kernels are compiled; null: all may be used. */
  #ready: Set<StepTapes> | null = null;
  /** Steps that took other tapes than the smallest. */
  #deferred = 0;

  constructor(
    device: Device,
    recipe: Recipe,
    steps: RecordedSteps,
    stores: readonly LayerStore[],
    loras: DeviceLoras,
  ) {
    this.#device = device;
    this.#recipe = recipe;
    this.#stores = stores;
    this.decodeRows = decodeRowsOf(device, recipe.slots, steps.rows);
    this.#recorded = recordedFor(device, steps, this.decodeRows);
    this.#loras = loras;
    this.#plain = this.#record(false);
    this.#adapted = this.#recordAdapted();
    device.arena.settle();
  }

  /** Whether the rows of steps may see expanded keys and values. */
  get expands(): boolean {
    return this.decodeRows !== null && this.#recipe.expanded !== null;
  }

  get all(): StepTapes[] {
    return [...this.#plain, ...this.#adapted];
  }

  get tapes() {
    return this.all.flatMap(tapesOf);
  }

  /** Compiles all kernels, or where tapes may stand in for one another those of a short first request: a tile of rows and one, sampled plainly. */
  async warmUp(onProgress: OnKernels): Promise<void> {
    const isWhole =
      this.decodeRows !== null || this.#recipe.batch.sums !== undefined || this.#adapted.length > 0;
    const tile = this.#plain.find(({ forward: { capacity } }) => capacity['rows']! >= TILE_ROWS);
    const first = isWhole ? [] : [tile ?? this.#plain.at(-1)!, this.#plain[0]!];
    const tapes = isWhole ? this.tapes : first.flatMap(({ forward, sampling }) => [forward, sampling.plain]);
    await compileTapes(this.#device, tapes, onProgress);
    if (!isWhole) this.#ready = new Set(first);
  }

  /** Compiles one of the kernels that `warmUp` left, in the order of need; resolves with whether there was one. */
  async compileNext(): Promise<boolean> {
    if (this.#ready === null) return false;
    for (const tapes of [this.#plain.at(-1)!, ...this.#plain]) {
      if (await compileNext(this.#device, [tapes.forward])) return true;
      this.#ready.add(tapes);
    }
    return compileNext(this.#device, this.tapes);
  }

  /** The most rows of the next step, of `wanted` that are to be computed: a few steps of few rows take less time than kernels of many take to compile. */
  mostRows(wanted: number): number {
    const ready = [...(this.#ready ?? this.#plain)].map(({ forward: { capacity } }) => capacity['rows']!);
    const most = Math.max(...ready);
    return wanted <= MOST_SHORT * most ? most : this.#plain.at(-1)!.forward.capacity['rows']!;
  }

  /**
   * Returns the smallest tapes that hold a step; of those, for some steps, the smallest whose kernels are compiled, which compute the same in more
   * time.
   */
  find(sizes: StepSizes, phase: Phase | null, isAdapted: boolean): StepTapes {
    const fitting = (isAdapted ? this.#adapted : this.#plain).filter(
      ({ phase: of, forward: { capacity } }) =>
        of === phase &&
        capacity['rows']! >= sizes.rows &&
        capacity['sampled']! >= sizes.sampled &&
        expandedPages(capacity) >= sizes.expandedPages,
    );
    const smallest = fitting[0]!;
    const ready = this.#ready;
    if (isAdapted || ready === null || ready.has(smallest)) return smallest;
    const standIn = fitting.find((tapes) => ready.has(tapes));
    if (standIn && ++this.#deferred <= MOST_DEFERRED) return standIn;
    ready.add(smallest);
    return smallest;
  }

  /** Records the tapes that bind LoRA factors again, after the factors have changed. */
  recordAdapted(): void {
    this.#adapted.forEach(forget);
    this.#adapted = this.#recordAdapted();
    this.#device.arena.settle();
  }

  /**
   * Finds the fastest variants of the kernels of each capacity, the largest first. `writer` writes what attention reads; `memory`: what a
   * step finds.
   */
  async tune(options: Omit<TuneOptions, 'step'>, writer: BatchWriter, memory: StepMemory): Promise<Tuned[]> {
    const { model, batch, slots, contextPages, expanded } = this.#recipe;
    const found: Tuned[] = [];
    for (const recorded of this.#recorded.toReversed()) {
      const { capacity, kinds } = stepShape({ ...recorded, slots, contextPages, expanded });
      const { rows, phase } = recorded;
      // Where phases do not differ, attention has no variants. Kernels of recurrent layers have none, either.
      const attended =
        phase === null
          ? { tiles: 0, tileRows: 0, contextPages: 1 }
          : writeTypicalStep(writer, { rows, phase }, memory);
      const expandedPages = Math.min(capacity['expandedPages'] ?? 0, attended.contextPages);
      const sizes = { ...capacity, ...attended, expandedPages, sequences: 0 };
      const record = (tape: Tape): Tensor[] => {
        const states = model.states(tape, batch, this.#stores);
        return [states, model.head(states, batch)];
      };
      const tuned = await tune(this.#device, record, { ...options, step: { capacity, kinds, sizes } });
      if (tuned !== null) found.push(tuned);
    }
    return found;
  }

  destroy(): void {
    this.all.forEach(forget);
  }

  #recordAdapted(): StepTapes[] {
    return this.#loras.store.keys.length > 0 ? this.#record(true) : [];
  }

  #record(isAdapted: boolean): StepTapes[] {
    const rowLoras = isAdapted ? this.#recipe.batch.adapters : null;
    return this.#recorded.map((one) =>
      recordStep(this.#device, { ...this.#recipe, stores: this.#stores, ...one, rowLoras }),
    );
  }
}

function decodeRowsOf({ profile }: Device, slots: number, rows: number): number | null {
  if (profile.matvecRows === null) return null;
  return Math.min(rows, Math.max(TILE_ROWS, slots));
}

/** Capacities from the smallest on. */
function recordedFor(
  { profile }: Device,
  { rows, batchInvariance }: RecordedSteps,
  decodeRows: number | null,
): Recorded[] {
  const { few: small } = profile.stepRows;
  const upTo = (most: number, phase: Phase | null, smaller: readonly number[]): Recorded[] =>
    [...smaller.filter((few) => few < most), most].map((count) => ({
      rows: count,
      phase,
      promptProducts: !batchInvariance && phase === 'decode' && count > SLICED_ROWS,
    }));
  if (decodeRows === null) return upTo(rows, null, small);
  const many = batchInvariance ? [] : MANY_CAPACITIES;
  return [...upTo(decodeRows, 'decode', [...small, ...many]), ...upTo(rows, 'prompt', [TILE_ROWS])];
}

/** Capacity and kinds of rows of the tapes of a step, without adapters. */
function stepShape(recipe: Recorded & Pick<StepRecipe, 'slots' | 'contextPages' | 'expanded'>): {
  capacity: Sizes;
  kinds: RowKinds;
} {
  const { rows, slots, contextPages, phase, promptProducts, expanded } = recipe;
  const sampled = Math.min(rows, slots);
  return {
    capacity: {
      ...{ rows, sampled, tiles: rows, tileRows: TILE_ROWS, contextPages, sequences: sampled },
      ...(phase === 'prompt' && rows > TILE_ROWS && expanded),
    },
    kinds: {
      // The few rows that are sampled are computed alike after a prompt and later.
      decodes: phase === null ? [] : phase === 'decode' ? ['rows', 'sampled'] : ['sampled'],
      promptProducts,
    },
  };
}

/** Small tapes sample as many rows as they compute; the large one samples as many rows as there are slots. */
function recordStep(device: Device, recipe: StepRecipe): StepTapes {
  const { model, sampler, prompts, batch, stores, rowLoras, phase, taken: wanted } = recipe;
  const { capacity, kinds } = stepShape(recipe);
  const forward = new Tape(device, capacity, { rowLoras, ...kinds });
  const { states: all, taken } =
    wanted === null
      ? { states: model.states(forward, batch, stores), taken: null }
      : model.target!.states(forward, batch, stores, wanted);
  if (taken) forward.keep(taken);
  const states = forward.keep(all);
  const logits = forward.keep(model.head(states, batch));
  forward.finish();
  const head = prompts.record(forward, states, logits);
  return { phase, forward, sampling: sampler.record(forward, logits), head, taken };
}

function tapesOf({ forward, sampling, head }: StepTapes): Tape[] {
  return [forward, ...sampling.tapes, head];
}

function forget({ forward, sampling, head }: StepTapes): void {
  forward.destroy();
  sampling.destroy();
  head.destroy();
}
