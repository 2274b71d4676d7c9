// Images as CLIP's vision encoder sees them, and what it gives for them.

import { resample } from '../../../files/image/resample.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { ClipVisionConfig } from '../../../models/vision/clip-vision-config.ts';
import type { ClipVision, ClipVisionOutput } from '../../../models/vision/clip-vision.ts';
import { CLIP_COLOURS, type Colours } from '../../../models/vision/pixel-values.ts';
import type { Pixels } from '../calls/image-model.ts';
import { computeFinite, type ComputeOptions } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';

/** Runs the encoder on the patches of an image; the caller frees the result. */
export async function readClipImage(
  device: Device,
  page: ClipVision,
  { patch }: Pick<ClipVisionConfig, 'patch'>,
  values: Float32Array<ArrayBuffer>,
  wanted: ClipVisionOutput,
  options: ComputeOptions,
): Promise<Tensor> {
  const columns = 3 * patch ** 2;
  using inputs = new Scope(device);
  const ones = inputs.hold(device.tensor('step', 'ones', [2], Float32Array.of(1, 1)));
  const patches = inputs.hold(
    device.tensor('step', 'patches', [1, values.length / columns, columns], values),
  );
  const [made] = await computeFinite(device, options, 'the image encoder', (tape, notFinite) => [
    page(tape, { patches: patches.on(tape), ones: ones.region!, notFinite }, wanted),
  ]);
  return made!;
}

/**
 * Returns patches of an image as CLIP's processor in transformers makes them, [patches, 3 · patch²]: rows of patches from left to right, their
 * colours one after the other. The shorter side is scaled to that of the encoder, the middle is taken, and colours are normalized.
 */
export function clipPatches(
  image: Pixels,
  { side, patch }: Pick<ClipVisionConfig, 'side' | 'patch'>,
): Float32Array<ArrayBuffer> {
  const shorter = Math.min(image.width, image.height);
  const [width, height] = [image.width, image.height].map((own) => Math.trunc((side * own) / shorter));
  const whole = resample(image, width!, height!, { filter: 'bicubic' });
  const [left, top] = [width!, height!].map((own) => Math.floor((own - side) / 2));
  return patchValues(whole, { left: left!, top: top!, side, patch }, CLIP_COLOURS);
}

/** Patches of a square part of an image, whose colours are normalized; what is left to the right and below takes no part. */
export function patchValues(
  whole: Pixels,
  { left, top, side, patch }: { left: number; top: number; side: number; patch: number },
  { means, spreads }: Colours,
): Float32Array<ArrayBuffer> {
  const across = Math.floor(side / patch);
  const values = new Float32Array(3 * (across * patch) ** 2);
  let at = 0;
  for (let cell = 0; cell < across ** 2; cell++) {
    const [row, column] = [Math.floor(cell / across), cell % across];
    for (let channel = 0; channel < 3; channel++)
      for (let i = 0; i < patch ** 2; i++) {
        const y = top + row * patch + Math.floor(i / patch);
        const x = left + column * patch + (i % patch);
        const value = whole.data[3 * (y * whole.width + x) + channel]! / 255;
        values[at++] = (value - means[channel]!) / spreads[channel]!;
      }
  }
  return values;
}
