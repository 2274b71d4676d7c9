// A model that is opened on devices which compute nothing: the choices of its quantization within a budget, and the smallest change with
// which it fits. Every figure and every change is the result of such an opening.

import { EngineError } from '../../files/error.ts';
import { QUANTIZATIONS } from '../weights/quantization.ts';
import type { ModelPlan, PlannedChoice, PlannedQuantization } from './model-plan.ts';

/** How a model is opened. */
export interface Way {
  quantization: PlannedQuantization;
  /** Tokens asked for; null: the model has no context. */
  contextLength: number | null;
}

export interface OpenedOnPaper {
  /** Bytes of weights. */
  weights: number;
  /** Bytes beside weights and KV cache. */
  scratch: number;
  /** Bytes of everything, the KV cache included. */
  bytes: number;
  /** Tokens in force; null: the model has no context. */
  contextLength: number | null;
}

export interface PlannedModel {
  /** Opens the model within a budget. Throws out_of_memory. */
  open(memoryBudget: number, way: Way): Promise<OpenedOnPaper>;
  /** The figures of a model that no budget limits; of one whose memory depends on the budget, those of the least memory. */
  unlimited(way: Way): Promise<OpenedOnPaper>;
  /** Bytes of about the smallest budget within which the model opens so. */
  least(way: Way): Promise<number>;
}

/** Tokens of context from which on a model is of use: suggestions of a larger budget do not go below it. */
const USEFUL_CONTEXT = 4096;
/** Growth of a budget that was just too small, and how often it is tried. */
const GROWTH = 1 / 128;
const TRIALS = 32;

type Fit = Pick<ModelPlan, 'choices' | 'fits' | 'opens' | 'change'>;
type Change = NonNullable<ModelPlan['change']>;

export class PlannedOpenings {
  readonly #model: PlannedModel;
  readonly #budget: number;
  readonly #memory: number;
  readonly #quantizations: readonly PlannedQuantization[];

  /** `memory`: bytes that the machine has. `quantizations`: those that can be chosen. */
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

  /** `quantization`: the one asked for; null: none that may be chosen has room. `contextLength`: tokens asked for. */
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

  async #choice(way: Way): Promise<PlannedChoice> {
    const { quantization } = way;
    const opened = await this.#openWithin(this.#budget, way);
    const { weights, scratch, contextLength } = opened ?? (await this.#model.unlimited(way));
    const tokens = opened === null && contextLength !== null ? 0 : contextLength;
    return { quantization, weights, scratch, contextLength: tokens, opens: opened !== null };
  }

  /** null: the budget is too small. */
  async #openWithin(budget: number, way: Way): Promise<OpenedOnPaper | null> {
    try {
      return await this.#model.open(budget, way);
    } catch (error) {
      if (isOutOfMemory(error)) return null;
      throw error;
    }
  }

  /** A shorter context changes no result that fits in it, a quantization changes them all, and a budget may be more than there is. */
  async #smallestChange(
    choices: readonly PlannedChoice[],
    asked: PlannedChoice | undefined,
    contextLength: number | null,
  ): Promise<Change | null> {
    const from = asked === undefined ? 0 : this.#quantizations.indexOf(asked.quantization);
    const opening = choices.slice(from).filter(({ opens }) => opens);
    for (const choice of opening) {
      const way = { quantization: choice.quantization, contextLength: choice.contextLength };
      if (!(await this.#fits(this.#budget, way))) continue;
      return {
        ...(choice !== asked && { quantization: choice.quantization }),
        ...(!isWhole(choice, contextLength) && { contextLength: choice.contextLength! }),
      };
    }
    return this.#largerBudget(asked?.quantization, contextLength);
  }

  /** A budget for the model as asked if the machine has the memory, else one for the smallest weights with a context of use. */
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

  /** The smallest budget, up to a little, within which the model fits; null: none up to `most` was found. */
  async #leastBudget(way: Way, most = Infinity): Promise<number | null> {
    let budget = await this.#model.least(way);
    for (let trial = 0; trial < TRIALS && budget <= most; trial++) {
      if (await this.#fits(budget, way)) return budget;
      budget += Math.ceil(budget * GROWTH);
    }
    return null;
  }

  async #fits(budget: number, way: Way): Promise<boolean> {
    const opened = await this.#openWithin(budget, way);
    return opened !== null && isWhole(opened, way.contextLength);
  }
}

function isWhole({ contextLength }: Pick<OpenedOnPaper, 'contextLength'>, wanted: number | null): boolean {
  return wanted === null || contextLength! >= wanted;
}

/** Whether an error says that a budget is too small. */
export function isOutOfMemory(error: unknown): error is EngineError {
  return error instanceof EngineError && error.code === 'out_of_memory';
}
