// Chooses the best quantization of a plan with which a context fits.

import { badRequest } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import { WEIGHT_CHOICES } from '../../options/model.ts';
import type { ModelPlan, PlannedChoice } from './model-plan.ts';

/** Options to open a model with, so that it fits. */
export interface Fit {
  quantization: PlannedChoice['quantization'];
  /** Tokens of context, less than the model's own; left out: the model's own fits, or it has none. */
  contextLength?: number;
}

/** Tokens that are asked for where the caller says nothing. */
const USUAL_CONTEXT = 4096;

/**
 * Returns the least packed quantization of a plan with at least `contextLength` tokens of context (default: 4096, or the model's own if that is shorter), for
 * the options of an opener; null: none fits. Throws bad_request for a context that the model does not have.
 */
export function fitModel(
  { choices, contextLength: own }: Pick<ModelPlan, 'choices' | 'contextLength'>,
  { contextLength: wanted }: { contextLength?: number } = {},
): Fit | null {
  if (!Array.isArray(choices)) throw badRequest('fitModel() takes the plan that planModel() returned');
  if (wanted !== undefined && !(Number.isInteger(wanted) && wanted > 0 && wanted <= (own ?? 0)))
    throw badRequest(
      say`${option('contextLength')} is ${String(wanted)}: the model has ${own === null ? 'no context' : `1 to ${own}`}`,
      'contextLength',
    );
  const least = wanted ?? Math.min(own ?? 0, USUAL_CONTEXT);
  const fits = ({ opens, contextLength }: PlannedChoice): boolean =>
    opens && (contextLength === null || contextLength >= least);
  const order = choices.toSorted(
    (a, b) => WEIGHT_CHOICES.indexOf(a.quantization) - WEIGHT_CHOICES.indexOf(b.quantization),
  );
  const best = order.find(fits);
  if (best === undefined) return null;
  const { quantization, contextLength } = best;
  const isShorter = own !== null && contextLength !== null && contextLength < own;
  return { quantization, ...(isShorter && { contextLength }) };
}
