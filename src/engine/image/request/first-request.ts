// Checks the first request before its model is opened: a value that the model's configurations alone show to be wrong is refused before weights are
// downloaded or read.

import { badRequest } from '../../../files/error.ts';
import { openPipeline, type Pipeline } from '../../../files/pipeline/pipeline-index.ts';
import type { Platform } from '../../platform/platform.ts';
import { sideProblem } from './request-check.ts';
import type { ImageFamily } from '../blocks/family.ts';
import { knownPipelines, pipelineEntry } from '../families/registry.ts';
import type { FirstRequest, ImageModelOptions } from '../calls/image-model.ts';
import { scheduleName } from '../schedules/names.ts';

/** Throws bad_request for a side that the pipeline cannot draw, and the errors of a scheduler that it does not take. */
export function checkFirstRequest(
  { className, components }: Pick<Pipeline, 'className' | 'components'>,
  request: FirstRequest,
  families?: readonly ImageFamily[],
): void {
  const { family, set, task } = pipelineEntry(className, families);
  const { [family.autoencoder]: autoencoder, scheduler } = components;
  // Sizes that a class draws in another one are judged when the request is resolved.
  if (autoencoder && !set.sizeOf) {
    const multiple = family.readAutoencoder(autoencoder).factor * family.latents.patch;
    for (const key of ['width', 'height'] as const) {
      const problem = request[key] === undefined ? null : sideProblem(request[key], multiple);
      if (problem !== null) throw badRequest(`${key} ${problem}`, key);
    }
  }
  if (scheduler && request.scheduler !== undefined && request.scheduler !== scheduler.className) {
    const config = { ...scheduler.config, _class_name: scheduler.className };
    scheduleName(request.scheduler, set.correctScheduler?.(config, task) ?? config);
  }
}

/** Components whose configurations are judged. */
const JUDGED = ['vae', 'scheduler'];

/**
 * Checks the first request by the settings of a model on a hub, whose weights are not fetched yet. What these settings do not tell is
 * judged when the model is opened.
 */
export async function inspectFirst(
  { openFolder }: Pick<Platform, 'openFolder'>,
  settings: string,
  { firstRequest, pipelineClassName, componentPaths = {} }: ImageModelOptions,
  families?: readonly ImageFamily[],
): Promise<void> {
  const isReplaced = JUDGED.some((name) => Object.hasOwn(componentPaths, name));
  if (firstRequest === undefined || isReplaced) return;
  const options = pipelineClassName === undefined ? {} : { pipelineClassName };
  const pipeline = await openPipeline(settings, openFolder, knownPipelines(families), options).catch(
    () => null,
  );
  if (pipeline) checkFirstRequest(pipeline, firstRequest, families);
}
