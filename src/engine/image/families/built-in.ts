// The built-in image families.

import { chromaFamily } from './chroma.ts';
import { fluxKontext } from './flux-kontext.ts';
import { fluxFamily } from './flux.ts';
import { flux2, flux2Klein } from './flux2.ts';
import { pixartFamily } from './pixart.ts';
import { qwenImageEdit, qwenImageEditPlus } from './qwen-image-edit.ts';
import { qwenImage } from './qwen-image.ts';
import { sanaFamily } from './sana.ts';
import { sd3Family } from './sd3.ts';
import { stableDiffusionXL } from './stable-diffusion-xl.ts';
import { stableDiffusion } from './stable-diffusion.ts';
import { zImage } from './z-image.ts';
import type { ImageFamily } from './family.ts';

/** Later families are matched first: their ids may contain those of an earlier one, like stable-diffusion-xl. */
export const FAMILIES: readonly ImageFamily[] = [
  stableDiffusion,
  stableDiffusionXL,
  sd3Family,
  zImage,
  fluxFamily,
  fluxKontext,
  flux2,
  flux2Klein,
  chromaFamily,
  qwenImage,
  qwenImageEdit,
  qwenImageEditPlus,
  sanaFamily,
  pixartFamily,
];
