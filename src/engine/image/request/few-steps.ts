// LoRAs that distil a model to few steps set steps, guidance and schedule, where the user gives no others.

import { field, say, type Prose } from '../../../files/message.ts';
import type { AppliedLora } from '../lora/image-loras.ts';
import type { OpenLora } from '../lora/open-lora.ts';
import type { Resolved, ResolveContext } from '../stages/resolved.ts';

type FewSteps = NonNullable<OpenLora['fewSteps']>;

/** The first LoRA of a request that distils, with its scale; a LoRA of scale 0 has no effect. */
function fewStepsIn(applied: readonly AppliedLora[]): (FewSteps & { scale: number }) | null {
  const found = applied.find(({ lora, scale }) => scale !== 0 && lora.fewSteps);
  return found?.lora.fewSteps ? { ...found.lora.fewSteps, scale: found.scale } : null;
}

/** Returns the context with the defaults that LoRAs imply. */
export function contextWith(applied: readonly AppliedLora[], context: ResolveContext): ResolveContext {
  const found = fewStepsIn(applied);
  if (!found) return context;
  const { steps, guidance, scheduler } = found.settings;
  const isKnown = scheduler !== undefined && context.schedulers.includes(scheduler);
  const from = `its LoRA ${found.name}`;
  const defaultsFrom = { steps: from, guidance: from, ...(isKnown && { scheduler: from }) };
  const { defaults } = context;
  return {
    ...context,
    defaults: { ...defaults, steps, guidance, defaultsFrom: { ...defaults.defaultsFrom, ...defaultsFrom } },
    schedulers: isKnown ? [scheduler, ...context.schedulers] : context.schedulers,
  };
}

/** Returns the request with the shift of the schedule that a LoRA implies for models that take one, where the request states none. */
export function shiftedBy<R extends { flowShift?: number | undefined }>(
  applied: readonly AppliedLora[],
  request: R,
  { pipeline: { family } }: Pick<ResolveContext, 'pipeline'>,
): R {
  const flowShift = fewStepsIn(applied)?.settings.flowShift;
  const isTaken = flowShift !== undefined && family.takes.includes('flowShift');
  return isTaken && request.flowShift === undefined ? { ...request, flowShift } : request;
}

/** A note on the values that a LoRA sets; null: it sets none. */
export function fewStepsNote({ event: { values, sources }, request, loras = [] }: Resolved): Prose | null {
  const found = fewStepsIn(loras);
  if (!found) return null;
  const keys = (['steps', 'guidance', 'scheduler'] as const).filter(
    (key) =>
      sources[key] === 'model' && (key !== 'scheduler' || values.scheduler === found.settings.scheduler),
  );
  const isOwnScale = found.settings.scale !== undefined && found.scale === found.settings.scale;
  const { flowShift } = request;
  const isShifted = flowShift !== undefined && flowShift === found.settings.flowShift;
  if (keys.length === 0 && !isOwnScale && !isShifted) return null;
  const set: Prose[] = keys.map((key) => say`${field(key)} ${values[key]}`);
  if (isShifted) set.push(say`${field('flowShift')} ${flowShift}`);
  if (isOwnScale) set.push(`its own scale ${found.scale}`);
  const [first, ...others] = set;
  const all = others.reduce<Prose>((text, each) => say`${text}, ${each}`, first!);
  return say`the LoRA ${found.name} is for few steps, which sets ${all}: give others to change them`;
}
