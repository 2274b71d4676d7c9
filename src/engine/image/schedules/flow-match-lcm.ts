// FlowMatchLCMScheduler: the sigmas of FlowMatchEuler; each call predicts the clean latents, and fresh noise takes them to the next level.

import type { ConfigReader } from './config.ts';
import { walkFlow } from './flow-match-euler.ts';
import { readFlow } from './flow-sigmas.ts';
import type { PlanSteps } from './schedule.ts';

export function flowMatchLcm(config: ConfigReader): PlanSteps {
  config.neutral('scale_factors', null, 'latents keep their size here, so leave it out');
  return walkFlow(readFlow(config), true);
}
