// Plans a model of any kind: its files are read as far as the plan needs them, and it is opened on devices that compute nothing.

import { noteOf, type Note, type Prose } from '../../files/message.ts';
import { withinBudget } from './first-fitting.ts';
import type { ModelPlan } from './model-plan.ts';
import { Openings } from './openings.ts';
import type { BudgetedOptions, OpenOnPaper, PlanPlace } from './paper-model.ts';

/** Throws what opening the model throws about its files and its configuration. */
export async function planOnPaper(
  open: OpenOnPaper,
  path: string,
  options: BudgetedOptions,
  place: PlanPlace,
): Promise<ModelPlan> {
  const notes: Note[] = [];
  const note = (message: Prose): void => void notes.push(noteOf(message));
  const { model, choose, describe } = await open(path, options, place, note);
  const quantization = await withinBudget(choose, note);
  const { memoryBudget: budget } = options;
  const fit = await new Openings(model, budget, place.memory).fit(quantization);
  const asked = fit.choices.find((choice) => choice.quantization === quantization);
  const { kind, architecture, wrapper = null, media = [], ...described } = describe(asked);
  const { contextLength = null, cache = null, components = [], ...weights } = described;
  return {
    ...{ model: options.model, kind, architecture, wrapper, media, ...weights },
    ...{ notes, contextLength, cache, components, budget, ...fit },
  };
}
