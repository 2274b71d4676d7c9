// Values of patches as the tower reads them: channel by channel, frame by frame, rows, columns. An image is repeated for every frame.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { QwenProcessorConfig } from './qwen-processor-config.ts';
import type { VisionLayout } from './qwen-vision-layout.ts';

const CHANNELS = 3;

/** Sides are multiples of a patch; several images are the frames of a patch; → [patches, channels · frames · patch²] in the layout's order */
export function visionPatches(
  { patch, frames, scale, means, spreads }: QwenProcessorConfig,
  { patches }: Pick<VisionLayout, 'patches'>,
  image: Pixels | readonly Pixels[],
): Float32Array<ArrayBuffer> {
  const shown = 'data' in image ? [image] : image;
  const values = new Float32Array(patches.length * CHANNELS * frames * patch ** 2);
  let at = 0;
  for (const [row, column] of patches) {
    for (let channel = 0; channel < CHANNELS; channel++) {
      const [mean, spread] = [means[channel]!, spreads[channel]!];
      for (let frame = 0; frame < frames; frame++) {
        const { width, data } = shown[Math.min(frame, shown.length - 1)]!;
        for (let y = row * patch; y < (row + 1) * patch; y++)
          for (let x = column * patch; x < (column + 1) * patch; x++)
            values[at++] = (data[CHANNELS * (y * width + x) + channel]! * scale - mean) / spread;
      }
    }
  }
  return values;
}
