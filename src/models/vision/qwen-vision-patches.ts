// Values of an image's patches as the tower reads them: channel by channel, the image repeated for every frame of a patch, rows, columns.

import type { Pixels } from '../../files/image/pixels.ts';
import type { QwenProcessorConfig } from './qwen-processor-config.ts';
import type { VisionLayout } from './qwen-vision-layout.ts';

const CHANNELS = 3;

/** The image's sides are multiples of a patch; → [patches, channels · frames · patch²] in the layout's order */
export function visionPatches(
  { patch, frames, scale, means, spreads }: QwenProcessorConfig,
  { patches }: Pick<VisionLayout, 'patches'>,
  { width, data }: Pixels,
): Float32Array<ArrayBuffer> {
  const size = patch * patch;
  const values = new Float32Array(patches.length * CHANNELS * frames * size);
  let at = 0;
  for (const [row, column] of patches) {
    for (let channel = 0; channel < CHANNELS; channel++) {
      const [mean, spread] = [means[channel]!, spreads[channel]!];
      const first = at;
      for (let y = row * patch; y < (row + 1) * patch; y++)
        for (let x = column * patch; x < (column + 1) * patch; x++)
          values[at++] = (data[CHANNELS * (y * width + x) + channel]! * scale - mean) / spread;
      for (let frame = 1; frame < frames; frame++, at += size) values.copyWithin(at, first, first + size);
    }
  }
  return values;
}
