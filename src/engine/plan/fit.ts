// Whether a model fits a budget, and the smallest change with which it does.

import { QUANTIZATIONS } from '../weights/quantization.ts';
import type { ModelPlan, PlannedChoice, PlannedQuantization } from './model-plan.ts';

export interface Wanted {
  quantization: PlannedQuantization;
  /** null: the model has no context. */
  contextLength: number | null;
}

/** `bytesFor`: bytes that the model takes in a quantization with a context. */
export function fit(
  choices: readonly PlannedChoice[],
  { quantization, contextLength }: Wanted,
  bytesFor: (quantization: PlannedQuantization, contextLength: number | null) => number,
): Pick<ModelPlan, 'fits' | 'opens' | 'change'> {
  const choice = choices.find((one) => one.quantization === quantization)!;
  const isWhole = (one: PlannedChoice): boolean =>
    one.opens && (contextLength === null || one.contextLength! >= contextLength);
  if (isWhole(choice)) return { fits: true, opens: true, change: null };
  // A shorter context changes no result that fits in it, a quantization changes them all.
  if (choice.opens) return { fits: false, opens: true, change: { contextLength: choice.contextLength! } };
  const smaller = QUANTIZATIONS.slice(QUANTIZATIONS.indexOf(quantization) + 1);
  const next = choices.find((one) => smaller.includes(one.quantization) && one.opens);
  if (next !== undefined) {
    const change = isWhole(next) || next.contextLength === null ? {} : { contextLength: next.contextLength };
    return { fits: false, opens: false, change: { quantization: next.quantization, ...change } };
  }
  const memoryBudget = bytesFor(quantization, contextLength);
  return { fits: false, opens: false, change: { memoryBudget } };
}
