// PixArt-α and PixArt-Σ: T5 encodes the prompt, a transformer denoises latents in patches of 2 × 2, and reads states of a text beside them.
// Guidance computes the prompt and the negative prompt as two items of one pass.

import type { Pipeline } from '../../../../files/pipeline/pipeline-index.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import { PATCH, readPixArtConfig } from '../../../../models/image/pixart-config.ts';
import { pixart, type PixArt } from '../../../../models/image/pixart.ts';
import { joinTexts, uploadPlaces } from '../../blocks/batch-step.ts';
import type { FamilyModel, ImageFamily, PipelineSet } from '../../blocks/family.ts';
import { nearestBin } from '../../blocks/resolution-bins.ts';
import {
  AUTOENCODER,
  denoiser,
  SCHEDULER,
  T5_ENCODER,
  T5_TOKENIZER,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';
import { guidedItems, openTransformer, promptsOf, requireWidth } from '../../blocks/transformer-model.ts';
import { CAPTIONS, COMMON, ETA, MAX_LENGTH, NEGATIVE, SIZE, TIMESTEPS } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { PIXART_OR_SANA, t5Lora, transformerLora } from '../../layouts/lora-names.ts';

const T5 = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
/** Pixels along one side of a latent. */
const PIXELS = 8;
const ALPHA = 'PixArtAlphaPipeline';
/** Default limits on the tokens of a prompt that are read. */
const ALPHA_TOKENS = 120;
const SIGMA_TOKENS = 300;
/** Index of a step's scalars. */
const INPUT_SCALE = 1;

const pipeline = (className: string): PipelineSet => ({
  classes: { 'text-to-image': className },
  strength: 'ceil',
  callArguments: () => ({
    ...COMMON,
    ...SIZE,
    ...NEGATIVE,
    ...TIMESTEPS,
    ...ETA,
    ...MAX_LENGTH,
    ...CAPTIONS,
  }),
});

export const pixartFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'pixart',
  examples: 'PixArt-Σ 512, 1024 and 2K, PixArt-α 512 and 1024',
  modelIds: /pixart/i,
  components: {
    text_encoder: T5_ENCODER,
    tokenizer: T5_TOKENIZER,
    transformer: denoiser('PixArtTransformer2DModel', 'Transformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  pipelines: [pipeline('PixArtSigmaPipeline'), pipeline(ALPHA)],
  defaults: { steps: 20, guidance: 4.5 },
  namedDefaults: [[/lcm/i, { steps: 4, guidance: 0 }]],
  lora: {
    parts: [transformerLora(), t5Lora('text_encoder', 1)],
    signs: [
      {
        models: 'PixArt',
        module: /(?<!single_|joint_)transformer_blocks[._]\d+[._]ff[._]net[._]/,
        width: 1152,
      },
      PIXART_OR_SANA,
    ],
  },
  takes: ['maxSequenceLength'],
  sigmas: null,
  open: openPixArt,
};

function openPixArt(components: ComponentAccess, { className }: Pick<Pipeline, 'className'>): FamilyModel {
  const config = readPixArtConfig(components.get('transformer').config, 'transformer/config.json');
  const { channels, hidden, sampleSize, placeScale: scale } = config;
  const most = className === ALPHA ? ALPHA_TOKENS : SIGMA_TOKENS;
  return openTransformer<PixArt>(components, {
    page: (table) => pixart(config, table),
    latentChannels: channels,
    sampleSize: { height: sampleSize, width: sampleSize },
    drawnSize: (size) => nearestBin(size, PIXELS * sampleSize),
    guides: (guidance) => guidance > 1,
    ranks: { tokens: { heads: config.heads } },
    async checkTexts() {
      requireWidth('caption_channels', config.textDims, 'text_encoder', await checkT5(components, T5));
    },
    encode(request, guided) {
      const { maxSequenceLength: count = most, options } = request;
      // As diffusers passes them to the tokenizer.
      const texts = promptsOf(request, guided).map((text) => text.toLowerCase().trim());
      return readT5(components, T5, texts, { count, padding: 'none', options });
    },
    async step(given, scope) {
      const { device, page, request, latents, height, width } = given;
      const { guidance, ...size } = request.values;
      const { passes, text, counts } = await joinTexts(given, scope);
      const places = uploadPlaces(given, scope, { patch: PATCH, sampleSize, hidden, scale });
      const numbers = (label: string, ...values: number[]): Tensor =>
        scope.hold(device.tensor('step', label, [values.length, 1], Float32Array.from(values)));
      const sides = numbers('sides of an image', size.height, size.width);
      const ratio = numbers('their ratio', size.height / size.width);
      return {
        record(tape, inputs) {
          const x = repeat(latents.on(tape), passes, inputs.scalars, INPUT_SCALE);
          const predicted = page.forward({
            patches: patchify(x, { size: PATCH, order: 'cpq' }), //  [items, tokens, 4 · channels]
            places: places.on(tape),
            time: inputs.time,
            size: config.takesSize ? { sides: sides.on(tape), ratio: ratio.on(tape) } : null,
            text: text.on(tape),
            counts: counts.on(tape),
          });
          // Others predict a variance behind the channels, which no schedule reads.
          const y = unpatchify(predicted, { size: PATCH, order: 'pqc', height, width, channels });
          return guidedItems(y, passes, inputs);
        },
        values: ({ timestep, inputScale }) => ({ time: timestep, scalars: [guidance, inputScale] }),
      };
    },
  });
}
