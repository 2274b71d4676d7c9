// Plans a model by opening it on devices that compute nothing: which quantizations fit a memory budget, and the smallest change with
// which the model fits. Each figure and each change is the result of such an opening.

import { firstFitting, withinBudget } from './first-fitting.ts';
import type { ModelPlan, PlannedChoice, PlannedQuantization } from './model-plan.ts';
import type { PaperModel, PaperOpening, PaperSettings } from './paper-model.ts';

/** Shortest useful context in tokens: suggestions of a larger budget do not go below it. */
const USEFUL_CONTEXT = 4096;
/** Share by which a budget that was just too small is raised, and the number of attempts. */
const GROWTH = 1 / 128;
const TRIALS = 32;

type Fit = Pick<ModelPlan, 'choices' | 'fits' | 'opens' | 'change'>;
type Change = NonNullable<ModelPlan['change']>;

/** A change with what the model is opened with after it. */
interface Candidate {
  change: Change;
  budget: number;
  settings: PaperSettings;
}

export class Openings {
  readonly #model: PaperModel;
  readonly #budget: number;
  readonly #memory: number;

  /** `memory`: bytes of the machine. */
  constructor(model: PaperModel, budget: number, memory: number) {
    this.#model = model;
    this.#budget = budget;
    this.#memory = memory;
  }

  /** `quantization`: the requested one; null: `auto` found none that fits. */
  async fit(quantization: PlannedQuantization | null): Promise<Fit> {
    const choices: PlannedChoice[] = [];
    for (const one of this.#model.quantizations) choices.push(await this.#choice(one));
    const asked = choices.find((choice) => choice.quantization === quantization);
    const opens = asked?.opens === true;
    const fits = opens && this.#isWhole(asked);
    const open = async ({ change, budget, settings }: Candidate): Promise<Change | null> =>
      (await this.#fits(budget, settings)) ? change : null;
    return {
      choices,
      fits,
      opens,
      change: fits ? null : await firstFitting(this.#changes(choices, asked), open),
    };
  }

  async #choice(quantization: PlannedQuantization): Promise<PlannedChoice> {
    const settings = { quantization, contextLength: this.#model.contextLength };
    const opened = await this.#openWithin(this.#budget, settings);
    const { weights, scratch, contextLength } = opened ?? (await this.#unlimited(settings));
    const tokens = opened === null && settings.contextLength !== null ? 0 : contextLength;
    const cache = opened === null || contextLength === null ? 0 : opened.bytes - weights - scratch;
    return { quantization, weights, scratch, cache, contextLength: tokens, opens: opened !== null };
  }

  /**
   * Prefers a shorter context, which changes no result that fits in it, to a quantization, which changes all results, both to experts in
   * host memory, of which a step copies few, these to layers there, which make steps slow, and all to a larger budget, which the machine may not have: one for the requested settings if the
   * machine has that memory, else one for the smallest weights with a useful context.
   */
  async *#changes(
    choices: readonly PlannedChoice[],
    asked: PlannedChoice | undefined,
  ): AsyncGenerator<Candidate> {
    const { quantizations, contextLength, mayStream, mayHostExperts } = this.#model;
    const budget = this.#budget;
    for (const choice of asked ? choices.slice(choices.indexOf(asked)) : choices) {
      if (!choice.opens) continue;
      const { quantization, contextLength: tokens } = choice;
      const change = {
        ...(choice !== asked && { quantization }),
        ...(!this.#isWhole(choice) && { contextLength: tokens! }),
      };
      yield { change, budget, settings: { quantization, contextLength: tokens } };
    }
    const settings = { quantization: asked?.quantization ?? 'none', contextLength };
    // A model whose weights are beside the device has no room for any whole, so that auto chooses none.
    const stated = asked ? {} : { quantization: settings.quantization };
    for (const hosted of [
      ...(mayHostExperts ? [{ cpuMoe: true } as const] : []),
      ...(mayStream ? [{ layerwiseOffload: true } as const] : []),
      ...(mayHostExperts && mayStream ? [{ cpuMoe: true, layerwiseOffload: true } as const] : []),
    ])
      yield { change: { ...stated, ...hosted }, budget, settings: { ...settings, ...hosted } };
    if (asked) yield* this.#budgets({}, settings, this.#memory);
    const quantization = quantizations.at(-1)!;
    const tokens = contextLength && Math.min(contextLength, USEFUL_CONTEXT);
    const change = {
      ...(quantization !== asked?.quantization && { quantization }),
      ...(tokens !== null && tokens !== contextLength && { contextLength: tokens }),
    };
    yield* this.#budgets(change, { quantization, contextLength: tokens });
  }

  /** Budgets from approximately the smallest one within which the model fits, up to `most`. */
  async *#budgets(change: Change, settings: PaperSettings, most = Infinity): AsyncGenerator<Candidate> {
    let budget = (await this.#model.least?.(settings)) ?? (await this.#unlimited(settings)).bytes;
    for (let trial = 0; trial < TRIALS && budget <= most; trial++) {
      yield { change: { ...change, memoryBudget: budget }, budget, settings };
      budget += Math.ceil(budget * GROWTH);
    }
  }

  #unlimited(settings: PaperSettings): Promise<PaperOpening> {
    return this.#model.unlimited?.(settings) ?? this.#model.open(Number.MAX_SAFE_INTEGER, settings);
  }

  /** Returns null if the budget is too small. */
  #openWithin(budget: number, settings: PaperSettings): Promise<PaperOpening | null> {
    return withinBudget(() => this.#model.open(budget, settings));
  }

  async #fits(budget: number, settings: PaperSettings): Promise<boolean> {
    const opened = await this.#openWithin(budget, settings);
    return opened !== null && this.#isWhole(opened, settings.contextLength);
  }

  #isWhole(
    { contextLength }: Pick<PaperOpening, 'contextLength'>,
    wanted = this.#model.contextLength,
  ): boolean {
    return wanted === null || contextLength! >= wanted;
  }
}
