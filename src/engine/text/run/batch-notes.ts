// Notes that a model without batch invariance shows when it opens: from how many requests on its replies may depend on each other, or why the
// option changes nothing.

import { option, say, type Prose } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';
import { SLICED_ROWS } from '../step/recordings.ts';
import type { TextModelOptions } from '../calls/text-model.ts';

/** `slots`: requests that are computed together. */
export function batchNotes(
  { batchInvariance = true }: Pick<TextModelOptions, 'batchInvariance'>,
  { profile }: Pick<Device, 'profile'>,
  slots: number,
): Prose[] {
  if (batchInvariance) return [];
  const asked = option('batchInvariance');
  if (profile.matvecRows === null)
    return [say`${asked} changes nothing: this adapter has the same kernels for prompts and replies`];
  if (slots <= SLICED_ROWS)
    return [
      say`${asked} changes nothing with at most ${slots} requests at once, as it concerns steps of more than ${SLICED_ROWS}: raise ${option('maxRunningRequests')}, or leave it out`,
    ];
  return [
    say`${asked}: products of steps of more than ${SLICED_ROWS} requests use the kernels of prompts where those are faster, so that a reply may depend on which requests are computed beside it`,
  ];
}
