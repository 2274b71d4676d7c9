// The built-in image families.

import { chromaFamily } from './chroma/chroma.ts';
import { fluxKontext } from './flux/flux-kontext.ts';
import { fluxFamily } from './flux/flux.ts';
import { flux2, flux2Klein } from './flux2/flux2.ts';
import { hunyuanVideo } from './hunyuan-video/hunyuan-video.ts';
import { lumina2Family } from './lumina2/lumina2.ts';
import { ltxConditions, ltxFamily } from './ltx/ltx.ts';
import { pixartFamily } from './pixart/pixart.ts';
import { qwenImageEdit, qwenImageEditPlus } from './qwen-image/qwen-image-edit.ts';
import { qwenImage } from './qwen-image/qwen-image.ts';
import { sanaFamily } from './sana/sana.ts';
import { sd3Family } from './sd3/sd3.ts';
import { stableDiffusionXL } from './stable-diffusion/stable-diffusion-xl.ts';
import { stableDiffusion } from './stable-diffusion/stable-diffusion.ts';
import { wanFamily } from './wan/wan.ts';
import { zImage } from './z-image/z-image.ts';
import type { ImageFamily } from '../blocks/family.ts';

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
  lumina2Family,
  wanFamily,
  ltxFamily,
  ltxConditions,
  hunyuanVideo,
];
