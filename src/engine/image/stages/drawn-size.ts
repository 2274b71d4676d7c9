// Images that are drawn in another size than the one that is asked for, and then scaled and cut to it.

import type { Drawing } from './drawing.ts';
import type { FamilyModel } from '../blocks/family.ts';
import type { Resolved } from './resolved.ts';

/** The request with the size that is drawn in place of the one that is asked for. */
export function asDrawn(resolved: Resolved, { drawnSize }: Pick<FamilyModel, 'drawnSize'>): Resolved {
  const { event, call } = resolved;
  const { width, height } = event.values;
  const drawn = call.binning === 0 ? undefined : drawnSize?.({ width, height });
  if (!drawn || (drawn.width === width && drawn.height === height)) return resolved;
  return { ...resolved, event: { ...event, values: { ...event.values, ...drawn } } };
}

/** The drawing in the size that is drawn, whose images are scaled and cut as they are decoded. */
export function drawingAsDrawn(drawing: Drawing): Drawing {
  const resolved = asDrawn(drawing.resolved, drawing.runner);
  if (resolved === drawing.resolved) return drawing;
  const { width, height } = drawing.resolved.event.values;
  return { ...drawing, resolved, cutTo: { width, height } };
}
