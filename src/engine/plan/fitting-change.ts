// The smallest change with which a model fits that has just been refused for its memory.

import { option, say, type Prose } from '../../files/message.ts';
import { EngineError, MemoryError } from '../../files/error.ts';
import type { Quantization } from '../opening/open-event.ts';
import type { ModelPlan } from './model-plan.ts';
import { Openings } from './openings.ts';
import type { PaperModel } from './paper-model.ts';

/**
 * Puts the change in the place of the general remedy of an error of memory; returns other errors unchanged, and those for which no change is
 * enough. `memory`: bytes of the machine.
 */
export async function withFittingChange(
  error: unknown,
  { memoryBudget, memory }: { memoryBudget: number; memory: number },
  quantization: Quantization,
  openPaper: () => PaperModel,
): Promise<unknown> {
  if (!(error instanceof EngineError) || error.code !== 'out_of_memory') return error;
  const openings = new Openings(openPaper(), memoryBudget, memory);
  const { change } = await openings.fit(quantization === 'auto' ? null : quantization);
  if (change === null) return error;
  const { param } = error;
  const [problem, mark] = error instanceof MemoryError ? [error.problem, ':'] : [error, ';'];
  const message = say`${problem}${mark} it fits with ${changeText(change)}`;
  return new EngineError('out_of_memory', message, { cause: error, ...(param !== null && { param }) });
}

/** Names the options of a change in their order, and the other way where they keep the budget. */
function changeText(change: NonNullable<ModelPlan['change']>): Prose {
  const { quantization, contextLength, cpuMoe, layerwiseOffload, memoryBudget = 0 } = change;
  const parts: Prose[] = [
    quantization && say`${option('quantization')} ${quantization}`,
    contextLength && say`${option('contextLength')} ${contextLength}`,
    cpuMoe && say`${option('cpuMoe')}`,
    layerwiseOffload && say`${option('layerwiseOffload')}`,
    memoryBudget && say`${option('memoryBudget')} ${Math.ceil(memoryBudget / 2 ** 20)}MiB`,
  ].flatMap((part) => part || []);
  const named = parts.reduce((all, part) => say`${all} and ${part}`);
  return memoryBudget ? named : say`${named}, or in a larger ${option('memoryBudget')}`;
}
