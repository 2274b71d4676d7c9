// FLUX.2 dev, and klein (4B, 9B; distilled and base): a language model encodes the prompt, Mistral Small 3 or Qwen3, and a transformer
// denoises latents beside those of images that it sees.

import { flux2 as flux2Page, type Flux2 } from '../../../../models/image/flux2.ts';
import { readFlux2Config } from '../../../../models/image/flux2-config.ts';
import { flux2Rotations, flux2TextRotations } from '../../../../models/image/flux2-rope.ts';
import type {
  ComponentFiles,
  FamilyModel,
  ImageFamily,
  ImpliedDefaults,
  ReferenceRule,
} from '../../blocks/family.ts';
import {
  denoiser,
  QWEN_TOKENIZER,
  SCHEDULER,
  textEncoder,
  tokenizer,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import { embeddedGuidance, streamStep } from '../../blocks/stream-step.ts';
import { openTransformer, promptsOf, requireWidth } from '../../blocks/transformer-model.ts';
import {
  COMMON,
  isWhole,
  list,
  MAX_LENGTH,
  number,
  SIGMAS,
  SIZE,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { Size } from '../../calls/image-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { FLUX_WIDTH, fluxWords, splitNorm } from '../../layouts/flux-lora.ts';
import { decoderLora, DOUBLE_ATTENTION, transformerLora } from '../../layouts/lora-names.ts';
import { empiricalShift } from '../../schedules/flow-sigmas.ts';
import { FLUX2_FILES, FLUX2_KLEIN_FILES, flux2Names } from './flux2-layout.ts';
import {
  checkFlux2Texts,
  checkLayers,
  MISTRAL,
  QWEN,
  readFlux2Texts,
  type Flux2Arguments,
  type Flux2Encoder,
} from './flux2-texts.ts';

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...SIGMAS,
  ...MAX_LENGTH,
  text_encoder_out_layers: list('integers of at least 1', (item) => isWhole(item) && item >= 1, {
    call: 'encoderLayers' satisfies keyof Flux2Arguments,
  }),
};

const DISTILLED = { steps: 4, guidance: 1, size: 1024 };
const BASE = { steps: 50, guidance: 4, size: 1024 };

/** Images of more pixels than the model draws by default are made smaller. */
function scaledSizeOf({ width, height }: Size, pixels: number): Size {
  if (width * height <= pixels) return { width, height };
  const scale = Math.sqrt(pixels / (width * height));
  return { width: Math.trunc(width * scale), height: Math.trunc(height * scale) };
}

/** A reference is scaled, then cropped around its middle to sides that are whole tokens. */
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

const BLOCKS = /(?:single_transformer_blocks|(?:double|single)_blocks)[._]\d+[._]/;

export const flux2: ImageFamily = {
  ...TRANSFORMER_FAMILY,
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
  latents: { patch: 1 },
  pipelines: set('Flux2Pipeline', {
    ...ARGUMENTS,
    caption_upsample_temperature: {
      ...number('a number', () => true, null),
      unavailable: 'lets the language model write the prompt anew, which is not built: write it out',
    },
  }),
  defaults: BASE,
  mu: empiricalShift,
  files: FLUX2_FILES,
  lora: {
    parts: [transformerLora(fluxWords(flux2Names), fluxWords(splitNorm)), decoderLora('text_encoder')],
    // Names that only FLUX.2 has are a sign of it; so are the widths of its larger models.
    signs: [
      { models: 'FLUX.2', module: /(?:_stream_modulation|to_qkv_mlp_proj|[._]linear_in$)/ },
      { models: 'FLUX.2 dev', module: BLOCKS, width: 6144 },
      { models: 'FLUX.2 klein 9B', module: BLOCKS, width: 4096 },
      { models: 'FLUX.2 dev', module: DOUBLE_ATTENTION, width: 6144 },
      { models: 'FLUX.2 klein 9B', module: DOUBLE_ATTENTION, width: 4096 },
      // The feed-forward parts are three times as wide, and doubled by their gates.
      ...[
        { module: /single_blocks[._]\d+[._]linear1$/, rows: 9 * FLUX_WIDTH },
        { module: /single_blocks[._]\d+[._]linear2$/, columns: 4 * FLUX_WIDTH },
        { module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]0$/, rows: 6 * FLUX_WIDTH },
        { module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]2$/, columns: 3 * FLUX_WIDTH },
      ].map((sign) => ({ models: 'FLUX.2 klein 4B', ...sign })),
    ],
  },
  open: (components) => openFlux2(components, MISTRAL, false),
};

export const flux2Klein: ImageFamily = {
  ...flux2,
  name: 'flux2-klein',
  examples: 'FLUX.2-klein-4B, FLUX.2-klein-9B, FLUX.2-klein-base-4B, FLUX.2-klein-base-9B',
  modelIds: /flux[.-]?2.*klein/i,
  components: {
    ...flux2.components,
    text_encoder: textEncoder('Qwen3ForCausalLM', 'Qwen3Model'),
    tokenizer: QWEN_TOKENIZER,
  },
  pipelines: set('Flux2KleinPipeline', ARGUMENTS),
  namedDefaults: [
    [/klein-?base/i, BASE],
    [/klein/i, DISTILLED],
  ],
  defaultsOf: kleinDefaults,
  files: FLUX2_KLEIN_FILES,
  open: (components, { settings }) => openFlux2(components, QWEN, !isDistilled(settings)),
};

/** `isGuided`: whether guidance above 1 takes a second pass with the negative prompt. */
function openFlux2(components: ComponentAccess, encoder: Flux2Encoder, isGuided: boolean): FamilyModel {
  const config = readFlux2Config(components.get('transformer').config, 'transformer/config.json');
  return openTransformer<Flux2>(components, {
    page: (table) => flux2Page(config, table),
    latentChannels: config.channels,
    ranks: { tokens: { heads: config.heads } },
    guides: (guidance) => isGuided && guidance > 1,
    ignoresGuidance: !isGuided && !config.distilledGuidance,
    checkRequest: ({ call }) => checkLayers(components, call, config.textDims),
    async checkTexts() {
      const columns = await checkFlux2Texts(components, encoder);
      requireWidth('joint_attention_dim', config.textDims, 'text_encoder', columns);
    },
    encode: (request, guided) => readFlux2Texts(components, encoder, promptsOf(request, guided), request),
    step(given, scope) {
      const guidance = embeddedGuidance(given, scope, config.distilledGuidance);
      return streamStep(given, scope, {
        patch: 1,
        dims: config.dims,
        rotateText: (tokens) => flux2TextRotations(config, tokens),
        rotateImage: (grid) => flux2Rotations(config, grid),
        scale: given.request.values.guidance,
        pass(tape, { time }) {
          const scale = guidance && guidance.on(tape);
          return (inputs) => given.page.forward({ ...inputs, time, guidance: scale });
        },
      });
    },
  });
}
