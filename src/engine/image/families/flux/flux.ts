// FLUX.1 (dev, Krea, schnell, Fill, Depth, Canny): T5 and CLIP encode the prompt, a transformer denoises latents in patches of 2 × 2.

import {
  byTask,
  COMMON,
  MAX_LENGTH,
  NEGATIVE,
  number,
  SIGMAS,
  SIZE,
  STRENGTH,
  text,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { ComponentFiles, ImageFamily, ImpliedDefaults } from '../../blocks/family.ts';
import {
  AUTOENCODER,
  CLIP_TOKENIZERS,
  denoiser,
  SCHEDULER,
  T5_ENCODER,
  T5_TOKENIZER,
  textEncoder,
  TRANSFORMER_FAMILY,
  classesOf,
} from '../../blocks/shared-components.ts';
import { FLUX_SIGNS, fluxWords, splitNorm, xlabsNames } from '../../layouts/flux-lora.ts';
import { fluxNames } from '../../layouts/flux-names.ts';
import { clipLora, t5Lora, transformerLora } from '../../layouts/lora-names.ts';
import { FLUX_FILES } from './flux-layout.ts';
import { openFlux, type ExtraInput, type FluxArguments } from './flux-model.ts';

const into = (field: keyof FluxArguments) => ({ call: field });

const BASE_ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  prompt_2: text(into('prompt2')),
  ...SIGMAS,
  ...MAX_LENGTH,
};
export const ARGUMENTS: CallArgumentTable = {
  ...BASE_ARGUMENTS,
  ...NEGATIVE,
  negative_prompt_2: text(into('negative2')),
  true_cfg_scale: number('a number of at least 0', (value) => value >= 0, into('trueGuidance')),
};

/** FLUX.1 Fill, whose transformer takes a mask and the image without the masked part beside the latents. */
const FILL = 'FluxFillPipeline';
/** FLUX.1 Depth and Canny, whose transformer takes the latents of a control image beside those that are denoised. */
const CONTROL = classesOf('FluxControl');

/** A control image has as many channels as the latents; the masked image and the mask have more. */
function widerClasses(columns: number, plain: number) {
  if (columns === 2 * plain) return CONTROL;
  return columns > 2 * plain ? { inpainting: FILL } : {};
}

function extraInputOf(className: string): ExtraInput {
  if (className === FILL) return 'mask';
  return Object.values(CONTROL).includes(className) ? 'control image' : null;
}

/** Models without the guidance input are schnell and those made from it, which take a few steps. */
function fluxDefaults({ transformer }: ComponentFiles): ImpliedDefaults {
  const isGuided = transformer?.config['guidance_embeds'] === true;
  if (isGuided) return {};
  const defaults = { steps: 4, guidance: 0, size: 1024 };
  return { likely: { defaults, from: 'transformer/config.json without guidance_embeds' } };
}

export const fluxFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'flux',
  examples:
    'FLUX.1-dev, FLUX.1-Krea-dev, FLUX.1-schnell, FLUX.1-Fill-dev, FLUX.1-Depth-dev, FLUX.1-Canny-dev',
  modelIds: /flux(?![.-]?2)/i,
  components: {
    text_encoder: textEncoder('CLIPTextModel'),
    tokenizer: CLIP_TOKENIZERS,
    text_encoder_2: T5_ENCODER,
    tokenizer_2: T5_TOKENIZER,
    transformer: denoiser('FluxTransformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: classesOf('Flux'),
      strength: 'ceil',
      callArguments: byTask(ARGUMENTS),
    },
    {
      classes: { inpainting: FILL },
      strength: 'ceil',
      callArguments: () => ({ ...BASE_ARGUMENTS, ...STRENGTH }),
      defaults: { steps: 50, guidance: 30 },
    },
    {
      classes: CONTROL,
      strength: 'ceil',
      callArguments: byTask(BASE_ARGUMENTS, {}),
    },
  ],
  defaults: { steps: 28, guidance: 3.5, size: 1024 },
  namedDefaults: [
    [/schnell/i, { steps: 4, guidance: 0, size: 1024 }],
    // As their makers' program has them.
    [/flux.*canny/i, { steps: 50, guidance: 30, size: 1024 }],
    [/flux.*depth/i, { steps: 50, guidance: 10, size: 1024 }],
  ],
  defaultsOf: fluxDefaults,
  files: FLUX_FILES,
  lora: {
    parts: [
      {
        ...transformerLora(fluxWords(fluxNames), fluxWords(xlabsNames), fluxWords(splitNorm)),
        input: 'x_embedder.weight',
      },
      clipLora('text_encoder', { nth: 1, original: 'clip_l' }),
      t5Lora('text_encoder_2', 3),
    ],
    signs: FLUX_SIGNS,
  },
  widening: {
    component: 'transformer',
    tensor: 'x_embedder.weight',
    module: /(?:^|[._])(?:x_embedder|img_in)$/,
    inputs: 'in_channels',
    outputs: 'out_channels',
    classes: widerClasses,
  },
  open: (components, { className }) => openFlux(components, extraInputOf(className)),
};
