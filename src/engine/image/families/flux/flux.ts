// FLUX.1 (dev, Krea, schnell, Fill, Depth, Canny): T5 and CLIP encode the prompt, a transformer denoises latents in patches of 2 × 2.

import { readAutoencoder } from '../../blocks/autoencoder.ts';
import {
  COMMON,
  integer,
  list,
  NEGATIVE,
  number,
  SIZE,
  STRENGTH,
  text,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import { FLUX_FILES } from './flux-layout.ts';
import { plainSigmas } from '../../schedules/flow-sigmas.ts';
import type { ComponentFiles, ImageFamily, ImpliedDefaults } from '../../blocks/family.ts';
import { FLUX_ADAPTERS } from './flux-adapters.ts';
import { openFlux, PATCH, type Beside, type FluxArguments } from './flux-model.ts';
import { AUTOENCODER, denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

const into = (field: keyof FluxArguments) => ({ call: field });

const BASE_ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  prompt_2: text(into('prompt2')),
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, into('sigmas')),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
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
const CONTROL = {
  'text-to-image': 'FluxControlPipeline',
  'image-to-image': 'FluxControlImg2ImgPipeline',
  inpainting: 'FluxControlInpaintPipeline',
};

/** A control image has as many channels as the latents; the masked image and the mask have more. */
function widerClasses(columns: number, plain: number) {
  if (columns === 2 * plain) return CONTROL;
  return columns > 2 * plain ? { inpainting: FILL } : {};
}

function besideOf(className: string): Beside {
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
  name: 'flux',
  examples:
    'FLUX.1-dev, FLUX.1-Krea-dev, FLUX.1-schnell, FLUX.1-Fill-dev, FLUX.1-Depth-dev, FLUX.1-Canny-dev',
  modelIds: /flux(?![.-]?2)/i,
  components: {
    text_encoder: textEncoder('CLIPTextModel'),
    tokenizer: tokenizer('CLIPTokenizer', 'CLIPTokenizerFast'),
    text_encoder_2: textEncoder('T5EncoderModel'),
    tokenizer_2: tokenizer('T5TokenizerFast', 'T5Tokenizer'),
    transformer: denoiser('FluxTransformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder,
  latents: { patch: PATCH, frames: 1 },
  pipelines: [
    {
      classes: {
        'text-to-image': 'FluxPipeline',
        'image-to-image': 'FluxImg2ImgPipeline',
        inpainting: 'FluxInpaintPipeline',
      },
      strength: 'ceil',
      callArguments: (task) => {
        if (task === 'text-to-image') return ARGUMENTS;
        const crop = { padding_mask_crop: integer(0, { call: 'maskPadding' }) };
        return { ...ARGUMENTS, ...STRENGTH, ...(task === 'inpainting' ? crop : {}) };
      },
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
      callArguments: (task) => ({ ...BASE_ARGUMENTS, ...(task === 'text-to-image' ? {} : STRENGTH) }),
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
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: plainSigmas,
  files: FLUX_FILES,
  adapters: FLUX_ADAPTERS,
  widening: {
    component: 'transformer',
    tensor: 'x_embedder.weight',
    module: /(?:^|[._])(?:x_embedder|img_in)$/,
    inputs: 'in_channels',
    outputs: 'out_channels',
    classes: widerClasses,
  },
  open: (components, { className }) => openFlux(components, besideOf(className)),
};
