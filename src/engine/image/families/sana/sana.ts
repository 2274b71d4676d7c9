// Sana: Gemma 2 encodes the prompt, a transformer with linear attention denoises latents of 32 × 32 pixels, and reads states of a text beside
// them. Guidance computes the prompt and the negative prompt as two items of one pass.

import { badRequest } from '../../../../files/error.ts';
import { ConfigError } from '../../../../models/config-values.ts';
import { readSanaConfig, type SanaConfig } from '../../../../models/image/sana-config.ts';
import { sana, type Sana } from '../../../../models/image/sana.ts';
import { joinTexts, uploadPlaces } from '../../blocks/batch-step.ts';
import { checkDecoder } from '../../blocks/decoder-texts.ts';
import type { FamilyModel, ImageFamily } from '../../blocks/family.ts';
import { nearestBin } from '../../blocks/resolution-bins.ts';
import {
  denoiser,
  SCHEDULER,
  textEncoder,
  tokenizer,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import { guidedItems, openTransformer, repeated, requireWidth } from '../../blocks/transformer-model.ts';
import {
  CAPTIONS,
  COMMON,
  ETA,
  MAX_LENGTH,
  NEGATIVE,
  SIGMAS,
  SIZE,
  TIMESTEPS,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { Size } from '../../calls/image-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { decoderLora, PIXART_OR_SANA, transformerLora } from '../../layouts/lora-names.ts';
import { ORIGINAL_WORDS, originalNames, SANA_FILES } from './sana-layout.ts';
import { GEMMA, readSanaTexts, type SanaArguments } from './sana-texts.ts';

/** Pixels along a side of a latent of the published models, by which sizes in training are told. */
const PIXELS = 32;
/** Limit on the lines of an instruction. */
const MOST_LINES = 64;

const lines: CallArgumentTable[string] = {
  wanted: `a list of at most ${MOST_LINES} strings`,
  fits: (value) =>
    Array.isArray(value) &&
    value.length <= MOST_LINES &&
    value.every((line: unknown) => typeof line === 'string'),
  into: { call: 'instruction' satisfies keyof SanaArguments },
};

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  ...TIMESTEPS,
  ...SIGMAS,
  ...ETA,
  ...MAX_LENGTH,
  complex_human_instruction: lines,
  ...CAPTIONS,
};

export const sanaFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'sana',
  examples: 'Sana 0.6B, 1.6B, 4.8B in 512 to 4096 pixels, Sana 1.5',
  modelIds: /(?:^|[^a-z])sana(?:[^a-z]|$)/i,
  components: {
    text_encoder: textEncoder('Gemma2Model', 'Gemma2ForCausalLM'),
    tokenizer: tokenizer('GemmaTokenizer', 'GemmaTokenizerFast'),
    transformer: denoiser('SanaTransformer2DModel'),
    vae: denoiser('AutoencoderDC'),
    scheduler: SCHEDULER,
  },
  latents: { patch: 1 },
  pipelines: [
    { classes: { 'text-to-image': 'SanaPipeline' }, strength: 'ceil', callArguments: () => ARGUMENTS },
  ],
  defaults: { steps: 20, guidance: 4.5 },
  lora: {
    parts: [transformerLora({ rename: originalNames, words: ORIGINAL_WORDS }), decoderLora('text_encoder')],
    signs: [
      { models: 'Sana', module: /transformer_blocks[._]\d+[._]ff[._]conv_(?:inverted|depth|point)$/ },
      { models: 'Sana', module: /transformer_blocks[._]\d+[._]attn1[._]to_q$/, columns: 2240 },
      PIXART_OR_SANA,
    ],
  },
  sigmas: null,
  files: SANA_FILES,
  open: openSana,
};

function openSana(components: ComponentAccess): FamilyModel {
  const config = readSanaConfig(components.get('transformer').config, 'transformer/config.json');
  if (config.guidanceScale !== null)
    throw new ConfigError(
      'unsupported',
      'transformer/config.json',
      'guidance_embeds true is not built for SanaPipeline; choose a checkpoint that has false',
      'guidance_embeds',
    );
  const { channels, hidden, patch, sampleSize, placeScale: scale } = config;
  return openTransformer<Sana>(components, {
    page: (table) => sana(config, table),
    latentChannels: channels,
    patch,
    sampleSize: { height: sampleSize, width: sampleSize },
    drawnSize: (size) => binOf(size, config),
    guides: (guidance) => guidance > 1,
    ranks: { tokens: { because: 'convolutions between its layers see tokens beside each other' } },
    async checkTexts() {
      const { hidden: columns } = await checkDecoder(components, GEMMA);
      requireWidth('caption_channels', config.textDims, 'text_encoder', columns);
    },
    encode: (request, guided) => readSanaTexts(components, request, guided),
    async step(given, scope) {
      const { page, request, latents } = given;
      const { passes, text, counts } = await joinTexts(given, scope);
      const places = scale === null ? null : uploadPlaces(given, scope, { patch, sampleSize, hidden, scale });
      return {
        record(tape, inputs) {
          const predicted = page.forward({
            latents: repeated(latents.on(tape), passes, inputs),
            time: inputs.time,
            guidance: null,
            places: places && places.on(tape),
            text: text.on(tape),
            counts: counts.on(tape),
          });
          return guidedItems(predicted, passes, inputs);
        },
        values: ({ timestep }) => ({
          time: timestep * config.timeScale,
          scalars: [request.values.guidance, 1],
        }),
      };
    },
  });
}

/** The size that is drawn: that of a bin, which whole tokens must fill. */
function binOf(size: Size, { sampleSize, patch }: SanaConfig) {
  const bin = nearestBin(size, PIXELS * sampleSize);
  if (bin === null || (bin.width % (PIXELS * patch) === 0 && bin.height % (PIXELS * patch) === 0)) return bin;
  throw badRequest(
    `use_resolution_binning draws ${bin.width} × ${bin.height}, and sides of this model are multiples of ${PIXELS * patch}: set it to false`,
    'use_resolution_binning',
  );
}
