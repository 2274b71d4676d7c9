// Inputs of several images as items of one batch.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { allocateTensor } from './compute.ts';

/** The first item of each tensor, then the second of each, and so on, in a buffer of its own; the tensors have one shape. */
export function joinItems(device: Device, tensors: readonly Tensor[]): Tensor {
  const [first] = tensors as [Tensor];
  const [items, ...rest] = first.shape as [number, ...number[]];
  const y = allocateTensor(device, 'inputs of a batch', [tensors.length * items, ...rest]);
  const bytes = first.bytes({}) / items;
  const encoder = device.gpu.createCommandEncoder();
  for (let item = 0; item < items; item++)
    for (const [i, { region }] of tensors.entries()) {
      const place = (item * tensors.length + i) * bytes;
      encoder.copyBufferToBuffer(
        region!.buffer,
        region!.offset + item * bytes,
        y.region!.buffer,
        place,
        bytes,
      );
    }
  device.gpu.queue.submit([encoder.finish()]);
  return y;
}
