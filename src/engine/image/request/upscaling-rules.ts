// Checks of what a request says about enlarging its results. Each throws bad_request with the name of the field.

import { field, option, say } from '../../../files/message.ts';
import { badRequest } from '../../../files/error.ts';
import { LIMITS } from '../../../options/limits.ts';
import { upscaledSize } from '../../../options/upscaled-size.ts';
import type { CompleteImageRequest, ResolvedImageRequest } from '../calls/image-model.ts';
import type { ResolveContext } from '../stages/resolved.ts';

/** The usual scale of SGLang, which clients send also where enable_upscaling is off. */
const NEUTRAL_SCALE = 4;

/** Whether results are enlarged. */
export function checkUpscaling(
  { enableUpscaling = false, upscalingScale: scale }: Partial<CompleteImageRequest>,
  { upscaling }: Pick<ResolveContext, 'upscaling'>,
): boolean {
  if (enableUpscaling && upscaling === null)
    throw badRequest(
      say`${field('enableUpscaling')} needs a network that enlarges images, and the model was opened without one: give it with ${option('upscalingModelPath')}`,
      'enableUpscaling',
    );
  if (!enableUpscaling && scale !== undefined && scale !== NEUTRAL_SCALE)
    throw badRequest(
      say`${field('upscalingScale')} is ${scale}, and ${field('enableUpscaling')} is off: give both, or leave it out`,
      'upscalingScale',
    );
  return enableUpscaling;
}

/** Refuses results of larger sides than images have. */
export function checkUpscaledSize(values: ResolvedImageRequest): void {
  const { width, height } = upscaledSize(values);
  const most = Math.max(width, height);
  if (values.upscalingScale === null || most <= LIMITS.side) return;
  const largest = Math.floor((100 * LIMITS.side) / Math.max(values.width, values.height)) / 100;
  throw badRequest(
    say`${field('upscalingScale')} ${values.upscalingScale} makes ${width} × ${height} pixels of ${values.width} × ${values.height}, and a side has at most ${LIMITS.side}: give at most ${largest}`,
    'upscalingScale',
  );
}
