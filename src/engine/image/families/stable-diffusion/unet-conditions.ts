// Inputs of a UNet and of its ControlNets that are constant over all steps, computed once into buffers of their own.

import type { Device } from '../../../../gpu/device.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { fromPixels } from '../../../../kernels/from-pixels.ts';
import { timestepEmbedding } from '../../../../kernels/timestep-embedding.ts';
import type { ControlNet } from '../../../../models/image/unet/controlnet.ts';
import type { UNetConfig } from '../../../../models/image/unet/unet-config.ts';
import type { UNet, UNetConditioning, UNetPrompt } from '../../../../models/image/unet/unet.ts';
import { pixelWords } from '../../blocks/autoencoder.ts';
import { compute, type ComputeOptions } from '../../recording/compute.ts';
import type { Pixels } from '../../calls/image-model.ts';
import { Scope } from '../../recording/scope.ts';
import type { TextStates } from '../../blocks/family.ts';

/** A ControlNet on the device, and the image that it sees. */
export interface LoadedControl {
  page: ControlNet;
  /** In the order of colours that the network reads. */
  image: Pixels;
}

export interface ConditionRequest {
  /** Rows of the prompts, one for each image, behind as many of the negative prompts if there are any. */
  text: TextStates;
  guidance: number;
  /** XL: sizes for the time embedding, one row for the negative prompt and one for the prompt, of all images. */
  sizeIds: readonly (readonly number[])[] | null;
  controls: readonly LoadedControl[];
}

export interface Conditions {
  unet: UNetConditioning;
  controls: readonly { conditioning: UNetConditioning; hint: Tensor }[];
}

/** Sine first; the last wave has the frequency 1 / maxPeriod. */
const GUIDANCE_WAVES = { flip: false, shift: 1, maxPeriod: 10000 };

/** Returns tensors that `mapConditions` visits; the caller frees them. */
export async function computeConditions(
  device: Device,
  config: UNetConfig,
  unet: UNet,
  { text, guidance: scale, sizeIds, controls }: ConditionRequest,
  options: ComputeOptions,
): Promise<Conditions> {
  const batch = text.states.shape[0] as number;
  using given = new Scope(device);
  const values = (label: string, rows: readonly (readonly number[])[]): Tensor => {
    const shape = [rows.length, 1, rows[0]!.length];
    return given.hold(device.tensor('step', label, shape, Float32Array.from(rows.flat())));
  };
  const ids =
    config.added && sizeIds
      ? values(
          'sizes',
          sizeIds.flatMap((row) => Array<typeof row>(batch / sizeIds.length).fill(row)),
        )
      : null;
  const guide =
    config.guidanceDims === null
      ? null
      : values(
          'guidance scale',
          Array.from({ length: batch }, () => [(scale - 1) * 1000]),
        );
  const images = controls.map(({ image }) => {
    const shape = [1, image.height, image.width];
    return given.hold(device.tensor('step', 'control image', shape, pixelWords(image)));
  });
  let recorded: Conditions | undefined;
  const results = await compute(device, options, (tape) => {
    const wave = guide && timestepEmbedding(guide.on(tape), config.guidanceDims!, GUIDANCE_WAVES);
    const prompt: UNetPrompt = {
      text: text.states.on(tape),
      ...(ids && text.pooled ? { added: { pooled: text.pooled.on(tape), ids: ids.on(tape) } } : {}),
    };
    recorded = {
      unet: unet.condition({ ...prompt, ...(wave ? { guidance: wave } : {}) }),
      controls: controls.map(({ page }, i) => ({
        conditioning: page.condition(prompt),
        hint: page.embed(fromPixels(images[i]!.on(tape), { centred: false }), batch),
      })),
    };
    return tensorsOf(recorded);
  });
  const rest = results.values();
  return mapConditions(recorded!, () => rest.next().value!);
}

/** Replaces each tensor, in one order. */
export function mapConditions(conditions: Conditions, map: (x: Tensor) => Tensor): Conditions {
  const of = ({ keyValues, added, guidance }: UNetConditioning): UNetConditioning => ({
    keyValues: keyValues.map(map),
    added: added && map(added),
    guidance: guidance && map(guidance),
  });
  return {
    unet: of(conditions.unet),
    controls: conditions.controls.map(({ conditioning, hint }) => ({
      conditioning: of(conditioning),
      hint: map(hint),
    })),
  };
}

export function tensorsOf(conditions: Conditions): Tensor[] {
  const tensors: Tensor[] = [];
  mapConditions(conditions, (x) => (tensors.push(x), x));
  return tensors;
}

export const onTape = (conditions: Conditions, tape: Tape): Conditions =>
  mapConditions(conditions, (x) => x.on(tape));
