// What is told of steps that are faster where replies may depend on the requests beside them: how many requests such a step has, or why there
// is none.

import { option, say, type Prose } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import { mostSlicedRows } from '../../kernels/gemm-matrix.ts';
import type { TextModelOptions } from './text-model.ts';

/** Notes about a model whose replies may depend on their batch. `slots`: requests that are computed together. */
export function batchNotes(
  { batchInvariance = true }: Pick<TextModelOptions, 'batchInvariance'>,
  device: Pick<Device, 'profile' | 'capabilities'>,
  slots: number,
): Prose[] {
  if (batchInvariance) return [];
  const asked = option('batchInvariance');
  if (device.profile.matvecRows === null)
    return [say`${asked} changes nothing: this adapter has the same kernels for prompts and replies`];
  const sliced = mostSlicedRows(device);
  return slots > sliced
    ? [
        say`${asked}: steps of more than ${sliced} requests use the kernels of prompts, so that a reply may depend on which requests are computed beside it`,
      ]
    : [
        say`${asked} changes nothing with at most ${slots} requests at once, as it concerns steps of more than ${sliced}: raise ${option('maxRunningRequests')}, or leave it out`,
      ];
}
