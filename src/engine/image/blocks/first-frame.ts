// The image of a clip's first frame: the size that is drawn in its proportions, and its latents in place of the first of those that are denoised.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import type { Size } from '../calls/image-model.ts';
import { roundHalfEven } from '../schedules/spacing.ts';

/** Latents [frames, height, width, channels] behind those of a first frame, [1, height, width, channels], instead of their own → their shape */
export function behindFirst(first: Tensor, latents: Tensor): Tensor {
  const [frames, height, width] = latents.shape as [number, number, number];
  const behind = (): Tensor => takeRows(latents, height * width, [frames - 1, height, width]);
  return joinRows([first, ...(frames === 1 ? [] : [behind()])], [frames, height, width]);
}

/** Copies the latents of a frame over the first of a clip. */
export function copyFirst(device: Device, frame: Tensor, latents: Tensor): void {
  const encoder = device.gpu.createCommandEncoder();
  const bytes = (4 * latents.stride * latents.rows({})) / (latents.shape[0] as number);
  encoder.copyBufferToBuffer(frame.region!.buffer, 0, latents.region!.buffer, 0, bytes);
  device.gpu.queue.submit([encoder.finish()]);
}

/** Returns the size of about so many pixels in the proportions of an image. source: the examples of diffusers' pipeline_wan_i2v.py */
export function sizeOfArea(image: Size, pixels: number, multiple: number): Size {
  const ratio = image.width / image.height;
  const whole = (side: number): number => Math.max(1, Math.floor(roundHalfEven(side) / multiple)) * multiple;
  return { width: whole(Math.sqrt(pixels * ratio)), height: whole(Math.sqrt(pixels / ratio)) };
}
