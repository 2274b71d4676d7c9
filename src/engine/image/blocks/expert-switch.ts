// A denoiser that is several: each computes some of the steps, and its weights and its recording leave the device before those of the next one
// are loaded.

import type { Device } from '../../../gpu/device.ts';
import type { LoadedComponent } from '../components/components.ts';
import type { ComputeOptions } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';
import type { Predictor } from '../recording/stepper.ts';
import type { Step } from '../schedules/schedule.ts';

/** Components that compute a step each. */
export interface Experts {
  names: readonly string[];
  of(step: Step): string;
}

/** `load`: the weights of a component; `record`: a step with them. */
export function switchExperts<Page>(
  device: Device,
  { names, of: expertOf }: Experts,
  load: (name: string) => Promise<LoadedComponent<Page>>,
  record: (page: Page, options: ComputeOptions) => Promise<Predictor>,
  options: ComputeOptions,
): Predictor {
  const { profiler, reuse } = options;
  const second = { ...options, ...(reuse && { reuse: { ...reuse, rule: reuse.second } }) };
  let active: { name: string; predictor: Predictor; scope: Scope } | null = null;

  const leave = async (): Promise<void> => {
    if (!active) return;
    const { predictor, scope } = active;
    await profiler?.add(() => predictor.times());
    active = null;
    scope[Symbol.dispose]();
  };
  const enter = async (name: string): Promise<Predictor> => {
    if (active?.name === name) return active.predictor;
    await leave();
    using scope = new Scope(device);
    const { page } = scope.use(await load(name));
    const predictor = scope.use(await record(page, name === names[1] ? second : options));
    active = { name, predictor, scope: scope.move() };
    return predictor;
  };
  return {
    async run(step, index, normals) {
      const predictor = await enter(expertOf(step));
      await predictor.run(step, index, normals);
    },
    finish: (latents) => active?.predictor.finish?.(latents),
    times: async () => (await active?.predictor.times()) ?? [],
    [Symbol.dispose]: () => active?.scope[Symbol.dispose](),
  };
}
