// FlowMatchHeunDiscreteScheduler: the sigmas of FlowMatchEuler with a constant shift, in steps of Heun's method.

import type { ConfigReader } from './config.ts';
import { flowTable, type Flow } from './flow-sigmas.ts';
import { heunDrafts } from './heun.ts';
import { estimates } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { assemble, OUTPUT } from './sum.ts';

export function flowMatchHeun(config: ConfigReader): PlanSteps {
  const flow: Flow = {
    className: config.className,
    trained: config.number('num_train_timesteps', 1000),
    shift: config.number('shift', 1),
    dynamic: false,
    linearShift: false,
    terminal: null,
    respacing: { kind: 'none', min: null, max: null },
    base: 0,
    max: 0,
    baseTokens: 0,
    maxTokens: 0,
  };
  return (request) => {
    const { timesteps, sigmas } = flowTable(flow, request);
    const drafts = heunDrafts(timesteps, sigmas, {
      at: (sigma) => ({
        ...estimates('flow_prediction', 1 - sigma, sigma),
        level: { image: 1 - sigma, noise: sigma },
      }),
      slope: () => OUTPUT,
      inputScale: () => 1,
    });
    return assemble(config.className, 1, drafts.slice(2 * (request.first ?? 0)));
  };
}
