// A denoiser whose whole prediction is taken from earlier steps in some steps, or continued by its divided differences.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { copy, copyInto } from '../../../kernels/copy-rows.ts';
import { addScaled, differ } from '../../../kernels/features.ts';
import { FACTORS, RATE, ReuseRun, scalarCount } from '../step-cache/reuse-run.ts';
import { allocateTensor, recordTape, type ComputeOptions } from './compute.ts';
import { createScalars, Scope } from './scope.ts';
import { clearTensors } from './reuse-recorder.ts';
import type { Predictor } from './stepper.ts';

/** `output`: where the predictor writes, and where the reused prediction stands. Owns the predictor, also when it throws. */
export async function reusePredictions(
  device: Device,
  predictor: Predictor,
  output: Tensor,
  { rule, steps }: NonNullable<ComputeOptions['reuse']>,
  options: ComputeOptions,
): Promise<Predictor> {
  using scope = new Scope(device);
  scope.use(predictor);
  const scalars = scope.use(createScalars(device, 'scalars of a prediction', scalarCount(rule)));
  const kept = Array.from({ length: rule.order + 1 }, () =>
    scope.hold(allocateTensor(device, 'kept prediction', output.shape as number[])),
  );
  const untuned = { ...options, tune: undefined };
  const keep = scope.use(
    await recordTape(
      device,
      untuned,
      (tape) => {
        const value = copy(output.on(tape));
        for (const one of kept.slice(0, -1))
          differ(value, one.on(tape), { scalars: scalars.region, index: RATE });
        copyInto(value, kept.at(-1)!.on(tape));
        return [];
      },
      [],
    ),
  );
  const continued = scope.use(
    await recordTape(
      device,
      untuned,
      (tape) => {
        const [value, ...differences] = kept.map((one) => one.on(tape));
        const y = copy(value!);
        differences.forEach((one, i) =>
          addScaled(y, one, { scalars: scalars.region, index: FACTORS + 1 + i }),
        );
        return [y];
      },
      [output],
    ),
  );
  let run = new ReuseRun(rule, steps);
  let last = Infinity;
  let reuses = false;
  return scope.give({
    async run(step, index, normals) {
      if (index <= last) {
        clearTensors(device, kept);
        run = new ReuseRun(rule, steps);
      }
      last = index;
      const next = run.next(null);
      ({ reuses } = next);
      scalars.write(next.scalars);
      if (next.reuses) return continued.run();
      await predictor.run(step, index, normals);
      await keep.run();
    },
    reused: () => Number(reuses),
    finish: (latents) => predictor.finish?.(latents),
    times: () => predictor.times(),
  } satisfies Omit<Predictor, typeof Symbol.dispose>);
}
