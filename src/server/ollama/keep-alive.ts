// How long a model stays open after a request, as Ollama's clients say it: seconds, or a duration as 5m or 1h30m.

import { LIMITS, MODEL_KINDS } from '../../index.ts';
import { fieldError } from '../http/errors.ts';
import { splitName } from '../service/models.ts';
import type { Service } from '../service/service.ts';
import { findSlot } from '../service/use-model.ts';

/** Milliseconds of the units of Go's durations. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds; Infinity: the model stays. undefined: nothing is said. Throws RequestError. */
export function keepAliveOf(value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  const milliseconds = typeof value === 'number' ? 1000 * value : durationOf(value);
  if (milliseconds === null)
    throw fieldError(
      'keep_alive',
      `is ${JSON.stringify(value)}: give seconds, or a duration as 5m or 1h30m; 0 closes the model, -1 keeps it open`,
    );
  return milliseconds < 0 || milliseconds > LIMITS.timeout ? Infinity : Math.ceil(milliseconds);
}

function durationOf(text: string): number | null {
  const [, sign = '', rest = ''] = /^([+-]?)(.+)$/.exec(text.trim()) ?? [];
  if (/^0+$/.test(rest)) return 0;
  if (sign === '-' && /^\d+$/.test(rest)) return -1;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(rest)) return null;
  const parts = [...rest.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const sum = parts.reduce((total, [, count, unit]) => total + Number(count) * UNITS[unit!]!, 0);
  return sign === '-' ? -sum : sum;
}

/** Closes a text model that is asked for nothing but that; false: it is not opened on demand, or stays open. */
export async function expire(service: Service, requested: string): Promise<boolean> {
  const { onDemand } = service;
  if (!onDemand) return false;
  const { base } = splitName(service, requested);
  const { demand } = await findSlot(service, MODEL_KINDS.text, base);
  if (!demand || demand.isPinned) return false;
  await onDemand.catalog.expire(demand);
  return true;
}
