// Plans a model by opening it on devices that compute nothing: which quantizations fit a memory budget, and the smallest change with
// which the model fits. Each figure and each change is the result of such an opening.

import { QUANTIZATIONS } from '../weights/quantization.ts';
import type { ModelPlan, PlannedChoice, PlannedQuantization } from './model-plan.ts';
import { withinBudget } from './within-budget.ts';

/** Settings that a planned model is opened with. */
export interface PlannedSettings {
  quantization: PlannedQuantization;
  /** Tokens of context asked for; null: the model has no context. */
  contextLength: number | null;
  /** Whether layers may be in host memory. */
  layerwiseOffload?: boolean;
}

/** Memory that a model takes once it is open. */
export interface PlannedOpening {
  /** Bytes of weights. */
  weights: number;
  /** Bytes of everything but weights and KV cache. */
  scratch: number;
  /** Bytes in total, with the KV cache. */
  bytes: number;
  /** Tokens of context that fit; null: the model has no context. */
  contextLength: number | null;
}

export interface PlannedModel {
  /** Opens the model within a budget. Throws out_of_memory. */
  open(memoryBudget: number, settings: PlannedSettings): Promise<PlannedOpening>;
  /** Opens the model without a limit of memory. If its memory depends on the budget, the figures are those of the least memory. */
  unlimited(settings: PlannedSettings): Promise<PlannedOpening>;
  /** Whether layers may be in host memory. */
  mayStream?: boolean;
  /** Approximately the smallest budget in bytes within which the model opens. */
  least(settings: PlannedSettings): Promise<number>;
}

/** Shortest useful context in tokens: suggestions of a larger budget do not go below it. */
const USEFUL_CONTEXT = 4096;
/** Share by which a budget that was just too small is raised, and the number of attempts. */
const GROWTH = 1 / 128;
const TRIALS = 32;

type Fit = Pick<ModelPlan, 'choices' | 'fits' | 'opens' | 'change'>;
type Change = NonNullable<ModelPlan['change']>;

export class PlannedOpenings {
  readonly #model: PlannedModel;
  readonly #budget: number;
  readonly #memory: number;
  readonly #quantizations: readonly PlannedQuantization[];

  /** `memory`: bytes of the machine. `quantizations`: the available ones. */
  constructor(
    model: PlannedModel,
    budget: number,
    memory: number,
    quantizations: readonly PlannedQuantization[] = QUANTIZATIONS,
  ) {
    this.#model = model;
    this.#budget = budget;
    this.#memory = memory;
    this.#quantizations = quantizations;
  }

  /** `quantization`: the requested one; null: `auto` found none that fits. `contextLength`: tokens asked for; null: the model has no context. */
  async fit(quantization: PlannedQuantization | null, contextLength: number | null): Promise<Fit> {
    const choices: PlannedChoice[] = [];
    for (const one of this.#quantizations)
      choices.push(await this.#choice({ quantization: one, contextLength }));
    const asked = choices.find((choice) => choice.quantization === quantization);
    const opens = asked?.opens === true;
    const fits = opens && isWhole(asked, contextLength);
    const change = fits ? null : await this.#smallestChange(choices, asked, contextLength);
    return { choices, fits, opens, change };
  }

  async #choice(settings: PlannedSettings): Promise<PlannedChoice> {
    const { quantization } = settings;
    const opened = await this.#openWithin(this.#budget, settings);
    const { weights, scratch, contextLength } = opened ?? (await this.#model.unlimited(settings));
    const tokens = opened === null && contextLength !== null ? 0 : contextLength;
    return { quantization, weights, scratch, contextLength: tokens, opens: opened !== null };
  }

  /** Returns null if the budget is too small. */
  #openWithin(budget: number, settings: PlannedSettings): Promise<PlannedOpening | null> {
    return withinBudget(() => this.#model.open(budget, settings));
  }

  /**
   * Prefers a shorter context, which changes no result that fits in it, to a quantization, which changes all results, both to layers in
   * host memory, which make steps slow, and all to a larger budget, which the machine may not have.
   */
  async #smallestChange(
    choices: readonly PlannedChoice[],
    asked: PlannedChoice | undefined,
    contextLength: number | null,
  ): Promise<Change | null> {
    const from = asked === undefined ? 0 : this.#quantizations.indexOf(asked.quantization);
    const opening = choices.slice(from).filter(({ opens }) => opens);
    for (const choice of opening) {
      const settings = { quantization: choice.quantization, contextLength: choice.contextLength };
      if (!(await this.#fits(this.#budget, settings))) continue;
      return {
        ...(choice !== asked && { quantization: choice.quantization }),
        ...(!isWhole(choice, contextLength) && { contextLength: choice.contextLength! }),
      };
    }
    return (
      (await this.#streamed(asked, contextLength)) ?? this.#largerBudget(asked?.quantization, contextLength)
    );
  }

  /** Returns null if the model does not fit either with layers in host memory, or has them there already. */
  async #streamed(asked: PlannedChoice | undefined, contextLength: number | null): Promise<Change | null> {
    const quantization = asked?.quantization ?? 'none';
    if (!this.#model.mayStream) return null;
    const settings = { quantization, contextLength, layerwiseOffload: true };
    return (await this.#fits(this.#budget, settings)) ? { layerwiseOffload: true } : null;
  }

  /** Returns a budget for the requested settings if the machine has that memory, else one for the smallest weights with a useful context. */
  async #largerBudget(
    asked: PlannedQuantization | undefined,
    contextLength: number | null,
  ): Promise<Change | null> {
    if (asked !== undefined) {
      const memoryBudget = await this.#leastBudget({ quantization: asked, contextLength }, this.#memory);
      if (memoryBudget !== null) return { memoryBudget };
    }
    const quantization = this.#quantizations.at(-1)!;
    const tokens = contextLength === null ? null : Math.min(contextLength, USEFUL_CONTEXT);
    const memoryBudget = await this.#leastBudget({ quantization, contextLength: tokens });
    if (memoryBudget === null) return null;
    return {
      ...(quantization !== asked && { quantization }),
      ...(tokens !== null && tokens !== contextLength && { contextLength: tokens }),
      memoryBudget,
    };
  }

  /** Returns approximately the smallest budget within which the model fits; null if none up to `most` was found. */
  async #leastBudget(settings: PlannedSettings, most = Infinity): Promise<number | null> {
    let budget = await this.#model.least(settings);
    for (let trial = 0; trial < TRIALS && budget <= most; trial++) {
      if (await this.#fits(budget, settings)) return budget;
      budget += Math.ceil(budget * GROWTH);
    }
    return null;
  }

  async #fits(budget: number, settings: PlannedSettings): Promise<boolean> {
    const opened = await this.#openWithin(budget, settings);
    return opened !== null && isWhole(opened, settings.contextLength);
  }
}

function isWhole({ contextLength }: Pick<PlannedOpening, 'contextLength'>, wanted: number | null): boolean {
  return wanted === null || contextLength! >= wanted;
}
