// What the processors of images do before a tower: a filter of Pillow's resizes, then each byte becomes (byte · scale − mean) / spread.

import type { ConfigReader } from '../config-values.ts';

/** Means and standard deviations of red, green and blue. */
export interface Colours {
  means: readonly number[];
  spreads: readonly number[];
}

export interface PixelValues extends Colours {
  /** Factor on a byte. */
  scale: number;
  /** Whether the result of each step is rounded to bfloat16; left out: only the last one is rounded, to f32. */
  isBf16?: boolean;
}

/** Those of the images that CLIP was trained with. Processors of many models take them. */
export const CLIP_COLOURS: Colours = {
  means: [0.48145466, 0.4578275, 0.40821073],
  spreads: [0.26862954, 0.26130258, 0.27577711],
};
export const HALVES: Colours = { means: [0.5, 0.5, 0.5], spreads: [0.5, 0.5, 0.5] };

/** Pillow's numbers of its filters. */
const FILTERS = { lanczos: 1, bilinear: 2, bicubic: 3 };

/** Throws unsupported for a processor whose steps are others, because they would change the computation. */
export function checkSteps(
  processor: ConfigReader,
  filter: keyof typeof FILTERS,
  others: Readonly<Record<string, readonly unknown[]>> = { do_convert_rgb: [true] },
): void {
  const steps = { do_resize: [true], do_rescale: [true], do_normalize: [true] };
  processor.only({ ...steps, ...others, resample: [FILTERS[filter]] });
}

/** `colours`: those of a processor that states none. */
export function readPixelValues(processor: ConfigReader, colours: Colours): PixelValues {
  return {
    scale: processor.real('rescale_factor', 1 / 255),
    means: processor.reals('image_mean', 3) ?? colours.means,
    spreads: processor.reals('image_std', 3) ?? colours.spreads,
  };
}
