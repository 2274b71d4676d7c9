// FlowMatchEulerDiscreteScheduler: x = (1 − σ)·clean + σ·noise; the model's output is noise − clean (SD3, FLUX, Qwen-Image,
// Z-Image).

import type { ConfigReader } from './config.ts';
import { flowTable, readFlow, type Flow } from './flow-sigmas.ts';
import { estimates } from './prediction.ts';
import type { PlanSteps } from './schedule.ts';
import { assemble, combine, LATENTS, NOISE, OUTPUT, type Draft } from './sum.ts';

export function flowMatchEuler(config: ConfigReader): PlanSteps {
  return walkFlow(readFlow(config), config.flag('stochastic_sampling', false));
}

/** `fresh`: each step adds fresh noise to the clean latents; otherwise it follows the output. */
export function walkFlow(flow: Flow, fresh: boolean): PlanSteps {
  return (request) => {
    const { timesteps, sigmas } = flowTable(flow, request);
    const drafts = timesteps.map((timestep, i): Draft => {
      const [sigma = 0, next = 0] = [sigmas[i], sigmas[i + 1]];
      const { clean } = estimates('flow_prediction', 1 - sigma, sigma);
      return {
        timestep,
        latents: fresh
          ? combine([1 - next, clean], [next, NOISE])
          : combine([1, LATENTS], [next - sigma, OUTPUT]),
        estimate: clean,
        level: { image: 1 - sigma, noise: sigma },
      };
    });
    return assemble(flow.className, 1, drafts.slice(request.first ?? 0));
  };
}
