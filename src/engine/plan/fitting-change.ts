// The smallest change with which a language model fits that has just been refused for its memory.

import { option, say, type Prose } from '../../files/message.ts';
import { EngineError } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import { openPaperTwin } from '../../gpu/paper-device.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import type { TextModelOptions } from '../text/calls/text-model.ts';
import { weightBytesIn } from '../weights/quantization.ts';
import type { ModelPlan } from './model-plan.ts';
import { PlannedText, type PlannedTextCheckpoint } from './plan-text.ts';
import { PlannedOpenings } from './planned-model.ts';

/** Adds the change to an error of memory; returns other errors unchanged, and those for which no change is enough. */
export async function withFittingChange(
  error: unknown,
  device: Device,
  checkpoint: Omit<PlannedTextCheckpoint, 'declaration'>,
  declaration: TextDeclaration,
  options: TextModelOptions,
): Promise<unknown> {
  if (!(error instanceof EngineError) || error.code !== 'out_of_memory') return error;
  const place = { openDevice: (budget: number) => openPaperTwin(device, budget) };
  const model = new PlannedText(place, { ...checkpoint, declaration }, options);
  const { quantization = 'none', contextLength } = options;
  const { choices } = weightBytesIn(device, checkpoint.tensors, declaration.generate!);
  const openings = new PlannedOpenings(model, device.memoryBudget, Infinity, choices);
  const wanted = Math.min(contextLength ?? declaration.context, declaration.context);
  const { change } = await openings.fit(quantization === 'auto' ? null : quantization, wanted);
  if (change === null) return error;
  const { param } = error;
  const message = say`${error}; it fits with ${changeText(change)}`;
  return new EngineError('out_of_memory', message, { cause: error, ...(param !== null && { param }) });
}

function changeText(change: NonNullable<ModelPlan['change']>): Prose {
  const parts: Prose[] = [
    ...(change.quantization === undefined ? [] : [say`${option('quantization')} ${change.quantization}`]),
    ...(change.contextLength === undefined ? [] : [say`${option('contextLength')} ${change.contextLength}`]),
    ...(change.layerwiseOffload === undefined ? [] : [say`${option('layerwiseOffload')}`]),
    ...(change.memoryBudget === undefined
      ? []
      : [say`${option('memoryBudget')} ${Math.ceil(change.memoryBudget / 2 ** 20)}MiB`]),
  ];
  return parts.reduce((all, part) => say`${all} and ${part}`);
}
