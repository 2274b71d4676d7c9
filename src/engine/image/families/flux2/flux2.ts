// FLUX.2 dev, and klein (4B, 9B; distilled and base): a language model encodes the prompt, Mistral Small 3 or Qwen3, and a transformer
// denoises latents beside those of images that it sees.

import {
  COMMON,
  integer,
  isWhole,
  list,
  number,
  SIZE,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { Pixels } from '../../calls/image-model.ts';
import { FLUX2_FILES, FLUX2_KLEIN_FILES } from './flux2-layout.ts';
import { empiricalShift, plainSigmas } from '../../schedules/flow-sigmas.ts';
import type { ComponentFiles, ImageFamily, ImpliedDefaults, ReferenceRule } from '../../blocks/family.ts';
import { FLUX2_ADAPTERS } from '../flux/flux-adapters.ts';
import { readFlux2Autoencoder } from './flux2-autoencoder.ts';
import { openFlux2, PATCH } from './flux2-model.ts';
import { flux2Texts, MISTRAL, QWEN, type Flux2TextArguments } from './flux2-texts.ts';
import { denoiser, SCHEDULER, textEncoder, tokenizer } from '../../blocks/shared-components.ts';

type Size = Pick<Pixels, 'width' | 'height'>;

const into = (field: keyof Flux2TextArguments) => ({ call: field });

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, into('sigmas')),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
  text_encoder_out_layers: list(
    'integers of at least 1',
    (item) => isWhole(item) && item >= 1,
    into('encoderLayers'),
  ),
};

const DISTILLED = { steps: 4, guidance: 1, size: 1024 };
const BASE = { steps: 50, guidance: 4, size: 1024 };

/** Images of more pixels than the model draws by default are made smaller. */
function scaledSizeOf({ width, height }: Size, pixels: number): Size {
  if (width * height <= pixels) return { width, height };
  const scale = Math.sqrt(pixels / (width * height));
  return { width: Math.trunc(width * scale), height: Math.trunc(height * scale) };
}

/** Of the scaled image the middle is taken whose sides are whole tokens. */
const REFERENCES: ReferenceRule = {
  most: 10,
  drawn: 'first',
  scaledSizeOf,
  sizeOf(image, pixels, multiple) {
    const whole = (side: number): number => Math.max(1, Math.floor(side / multiple)) * multiple;
    const { width, height } = scaledSizeOf(image, pixels);
    return { width: whole(width), height: whole(height) };
  },
};

const isDistilled = (settings: Readonly<Record<string, unknown>>): boolean =>
  settings['is_distilled'] === true;

/** The pipeline says whether a model is distilled to a few steps without guidance. */
function kleinDefaults(_: ComponentFiles, settings: Readonly<Record<string, unknown>>): ImpliedDefaults {
  const from = 'is_distilled of its pipeline';
  if (isDistilled(settings)) return { certain: { defaults: DISTILLED, from } };
  return settings['is_distilled'] === false ? { certain: { defaults: BASE, from } } : {};
}

const set = (className: string, callArguments: CallArgumentTable): ImageFamily['pipelines'] => [
  {
    classes: { 'text-to-image': className },
    references: REFERENCES,
    strength: 'ceil',
    callArguments: () => callArguments,
  },
];

export const flux2: ImageFamily = {
  name: 'flux2',
  examples: 'FLUX.2-dev',
  modelIds: /flux[.-]?2/i,
  components: {
    // The language model alone is enough, because images are not read; GGUF files hold no more, and call it a Llama, which computes the same.
    text_encoder: textEncoder('Mistral3ForConditionalGeneration', 'MistralForCausalLM', 'LlamaForCausalLM'),
    tokenizer: tokenizer('PixtralProcessor', 'LlamaTokenizerFast', 'LlamaTokenizer'),
    transformer: denoiser('Flux2Transformer2DModel'),
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLFlux2'] },
    scheduler: SCHEDULER,
  },
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder: readFlux2Autoencoder,
  latents: { patch: PATCH, frames: 1 },
  pipelines: set('Flux2Pipeline', {
    ...ARGUMENTS,
    caption_upsample_temperature: {
      ...number('a number', () => true, null),
      unavailable: 'lets the language model write the prompt anew, which is not built: write it out',
    },
  }),
  defaults: BASE,
  namedDefaults: [],
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: plainSigmas,
  mu: empiricalShift,
  files: FLUX2_FILES,
  adapters: FLUX2_ADAPTERS,
  open: (components) => openFlux2(components, { texts: flux2Texts(components, MISTRAL), guided: false }),
};

export const flux2Klein: ImageFamily = {
  ...flux2,
  name: 'flux2-klein',
  examples: 'FLUX.2-klein-4B, FLUX.2-klein-9B, FLUX.2-klein-base-4B, FLUX.2-klein-base-9B',
  modelIds: /flux[.-]?2.*klein/i,
  components: {
    ...flux2.components,
    text_encoder: textEncoder('Qwen3ForCausalLM', 'Qwen3Model'),
    tokenizer: tokenizer('Qwen2TokenizerFast', 'Qwen2Tokenizer'),
  },
  pipelines: set('Flux2KleinPipeline', ARGUMENTS),
  namedDefaults: [
    [/klein-?base/i, BASE],
    [/klein/i, DISTILLED],
  ],
  defaultsOf: kleinDefaults,
  files: FLUX2_KLEIN_FILES,
  open: (components, { settings }) =>
    openFlux2(components, { texts: flux2Texts(components, QWEN), guided: !isDistilled(settings) }),
};
