// The UNet of Stable Diffusion as a predictor, recorded for one size of latents. Guidance takes a pass with and one without the
// prompt, or is an input of models that were distilled to follow a guidance scale.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { guidance, keepSpread } from '../../../kernels/guidance.ts';
import { repeat } from '../../../kernels/repeat.ts';
import { timestepEmbedding } from '../../../kernels/timestep-embedding.ts';
import type { UNetConfig } from '../../../models/image/unet-config.ts';
import type { UNet, UNetConditioning } from '../../../models/image/unet.ts';
import type { ClipText } from './clip-text.ts';
import { allocateTensor, compute, recordTape, type ComputeOptions } from '../compute.ts';
import { writeRows, type Predictor } from '../denoiser.ts';
import { createScalars } from '../scalars.ts';
import { Scope } from '../scope.ts';

export interface UNetRequest {
  text: ClipText;
  guidance: number;
  guidanceRescale: number;
  /** XL: sizes for the time embedding, one row for the negative prompt and one for the prompt. */
  sizeIds: readonly (readonly number[])[] | null;
  /** Inpainting UNets: mask and masked image, [1, height, width, 1 + channels]. */
  extra: Tensor | null;
  latents: Tensor;
  output: Tensor;
}

/** Indices of a step's scalars. */
const INPUT_SCALE = 0;
const GUIDANCE = 1;
const ONE = 2;

export async function unetPredictor(
  device: Device,
  config: UNetConfig,
  unet: UNet,
  request: UNetRequest,
  options: ComputeOptions,
): Promise<Predictor> {
  const { latents, output, extra, text } = request;
  const batch = text.states.shape[0] as number;
  using scope = new Scope(device);
  const conditioning = await condition(device, config, unet, request, options);
  const { keyValues, added, guidance: guide } = conditioning;
  for (const tensor of [...keyValues, added, guide]) if (tensor) scope.hold(tensor);
  const scalars = scope.use(createScalars(device, 'scalars of a step', 3));
  const time = scope.hold(allocateTensor(device, 'time step', [batch, 1]));
  const recording = await recordTape(
    device,
    options,
    (tape) => {
      const scaled = repeat(latents.on(tape), 1, scalars.region, INPUT_SCALE);
      const x = extra ? concat(scaled, extra.on(tape)) : scaled;
      const input = batch === 1 ? x : repeat(x, batch, scalars.region, ONE);
      const predicted = unet.forward(input, time.on(tape), on(conditioning, tape));
      if (batch === 1) return [predicted];
      const guided = guidance(predicted, scalars.region, GUIDANCE, { base: 'negative', factor: 1 });
      if (request.guidanceRescale > 0) keepSpread(guided, predicted, request.guidanceRescale);
      return [guided];
    },
    [output],
  );
  scope.use(recording);
  const owner = scope.move();
  return {
    run({ inputScale, timestep }) {
      scalars.write([inputScale, request.guidance, 1]);
      writeRows(device, time, new Float32Array(batch).fill(timestep));
      recording.run();
    },
    times: () => recording.times(),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
}

/** Computes the inputs that are constant over all steps into buffers of their own. */
async function condition(
  device: Device,
  config: UNetConfig,
  unet: UNet,
  { text, guidance: scale, sizeIds }: UNetRequest,
  options: ComputeOptions,
): Promise<UNetConditioning> {
  const batch = text.states.shape[0] as number;
  using given = new Scope(device);
  const values = (label: string, rows: readonly (readonly number[])[]): Tensor => {
    const shape = [rows.length, rows[0]!.length];
    return given.hold(device.tensor('step', label, shape, Float32Array.from(rows.flat())));
  };
  const ids = config.added && sizeIds ? values('sizes', sizeIds) : null;
  const guide =
    config.guidanceDims === null
      ? null
      : values(
          'guidance scale',
          Array.from({ length: batch }, () => [(scale - 1) * 1000]),
        );
  const made: { keyValues: number; added: boolean; guidance: boolean } = {
    keyValues: 0,
    added: false,
    guidance: false,
  };
  const results = await compute(device, options, (tape) => {
    const states = text.states.on(tape);
    const wave = guide && timestepEmbedding(guide.on(tape), config.guidanceDims!, GUIDANCE_WAVES);
    const conditioning = unet.condition({
      text: states,
      ...(ids && text.pooled ? { added: { pooled: text.pooled.on(tape), ids: ids.on(tape) } } : {}),
      ...(wave ? { guidance: wave } : {}),
    });
    made.keyValues = conditioning.keyValues.length;
    made.added = conditioning.added !== null;
    made.guidance = conditioning.guidance !== null;
    return [...conditioning.keyValues, conditioning.added, conditioning.guidance].filter((x) => x !== null);
  });
  const rest = results.slice(made.keyValues);
  return {
    keyValues: results.slice(0, made.keyValues),
    added: made.added ? rest.shift()! : null,
    guidance: made.guidance ? rest.shift()! : null,
  };
}

/** Sine first; the last wave has the frequency 1 / maxPeriod. */
const GUIDANCE_WAVES = { flip: false, shift: 1, maxPeriod: 10000 };

function on(
  { keyValues, added, guidance: guide }: UNetConditioning,
  tape: Parameters<Tensor['on']>[0],
): UNetConditioning {
  return {
    keyValues: keyValues.map((x) => x.on(tape)),
    added: added && added.on(tape),
    guidance: guide && guide.on(tape),
  };
}
