// FLUX.1 Kontext: FLUX.1's transformer sees an image beside the one that it draws. The image is scaled to one of the sizes of its
// training. source: diffusers' pipeline_flux_kontext.py

import { integer, STRENGTH, type CallArgumentTable } from '../../calls/call-arguments.ts';
import type { Size } from '../../calls/image-model.ts';
import { TEACACHE } from '../../step-cache/teacache.ts';
import { FLUX_KONTEXT_FILES } from './flux-layout.ts';
import { openFlux } from './flux-model.ts';
import type { ImageFamily, ReferenceRule } from '../../blocks/family.ts';
import type { FluxArguments } from './flux-model.ts';
import { roundHalfEven } from '../../schedules/spacing.ts';
import { ARGUMENTS, fluxFamily } from './flux.ts';

interface KontextArguments extends FluxArguments {
  /** About how many pixels are drawn, in the proportions of the decided size. */
  maxArea?: number;
}

/** Sizes of images in training, of about TRAINED_SIDE² pixels. */
const TRAINED_SIZES = [
  [672, 1568],
  [688, 1504],
  [720, 1456],
  [752, 1392],
  [800, 1328],
  [832, 1248],
  [880, 1184],
  [944, 1104],
  [1024, 1024],
  [1104, 944],
  [1184, 880],
  [1248, 832],
  [1328, 800],
  [1392, 752],
  [1456, 720],
  [1504, 688],
  [1568, 672],
] as const;
const TRAINED_SIDE = 1024;

/** Returns the size of training with the nearest proportions; models with another default size have sizes of as many pixels as that. */
export function kontextSize({ width, height }: Size, pixels: number, multiple: number): Size {
  const distances = TRAINED_SIZES.map(([w, h]) => Math.abs(width / height - w / h));
  const [wide, high] = TRAINED_SIZES[distances.indexOf(Math.min(...distances))]!;
  const scale = Math.sqrt(pixels) / TRAINED_SIDE;
  return { width: whole(wide * scale, multiple), height: whole(high * scale, multiple) };
}

const whole = (side: number, multiple: number): number => Math.max(1, Math.floor(side / multiple)) * multiple;

/** Returns the size of about `maxArea` pixels in the proportions of another. */
function sizeOfArea({ width, height }: Size, { maxArea }: KontextArguments, multiple: number): Size | null {
  if (maxArea === undefined) return null;
  const ratio = width / height;
  return {
    width: whole(roundHalfEven(Math.sqrt(maxArea * ratio)), multiple),
    height: whole(roundHalfEven(Math.sqrt(maxArea / ratio)), multiple),
  };
}

const REFERENCES: ReferenceRule = { most: 1, sizeOf: kontextSize };

const CROP: CallArgumentTable = {
  padding_mask_crop: {
    ...integer(0, null),
    unavailable: 'is not built for FLUX.1 Kontext, which draws its images in sizes of its own: leave it out',
  },
};

/** Its images are tokens beside the latents, and no channels of them. */
const { widening: _, ...shared } = fluxFamily;

export const fluxKontext: ImageFamily = {
  ...shared,
  name: 'flux-kontext',
  examples: 'FLUX.1-Kontext-dev',
  modelIds: /flux.*kontext/i,
  files: FLUX_KONTEXT_FILES,
  open: (components) => openFlux(components, null, TEACACHE.fluxKontext),
  pipelines: [
    {
      classes: { 'text-to-image': 'FluxKontextPipeline', inpainting: 'FluxKontextInpaintPipeline' },
      references: REFERENCES,
      strength: 'ceil',
      sizeOf: sizeOfArea,
      callArguments: (task) =>
        task === 'inpainting'
          ? { ...ARGUMENTS, ...STRENGTH, ...CROP }
          : { ...ARGUMENTS, max_area: integer(1, { call: 'maxArea' satisfies keyof KontextArguments }) },
    },
  ],
};
