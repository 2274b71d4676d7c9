// Chroma: T5 encodes the prompt, a transformer made from FLUX.1 denoises latents in patches of 2 × 2, with true guidance. T5's padding is left
// out but for its first token, which is what masks do in which no token attends to the others.

import { chroma, chromaPlaces, type Chroma } from '../../../../models/image/chroma.ts';
import { readChromaConfig } from '../../../../models/image/chroma-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../../models/image/flux-rope.ts';
import { byTask, COMMON, MAX_LENGTH, NEGATIVE, SIGMAS, SIZE } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { FamilyModel, ImageFamily } from '../../blocks/family.ts';
import {
  AUTOENCODER,
  denoiser,
  SCHEDULER,
  T5_ENCODER,
  T5_TOKENIZER,
  TRANSFORMER_FAMILY,
  classesOf,
} from '../../blocks/shared-components.ts';
import { streamStep } from '../../blocks/stream-step.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';
import { MOST_TOKENS, openTransformer, promptsOf, requireWidth } from '../../blocks/transformer-model.ts';
import { FLUX_SIGNS, fluxWords, xlabsNames } from '../../layouts/flux-lora.ts';
import { fluxNames } from '../../layouts/flux-names.ts';
import { t5Lora, transformerLora } from '../../layouts/lora-names.ts';
import { CHROMA_FILES } from './chroma-layout.ts';

const T5 = { encoder: 'text_encoder', tokenizer: 'tokenizer' };

export const chromaFamily: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'chroma',
  examples: 'Chroma1-HD, Chroma1-Base',
  modelIds: /chroma/i,
  components: {
    text_encoder: T5_ENCODER,
    tokenizer: T5_TOKENIZER,
    transformer: denoiser('ChromaTransformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: classesOf('Chroma'),
      strength: 'ceil',
      callArguments: byTask({ ...COMMON, ...SIZE, ...NEGATIVE, ...SIGMAS, ...MAX_LENGTH }),
    },
  ],
  defaults: { steps: 35, guidance: 5, size: 1024 },
  files: CHROMA_FILES,
  lora: {
    // Chroma has the blocks of FLUX.1 without the modules that modulate them.
    parts: [
      transformerLora(fluxWords(fluxNames), fluxWords(xlabsNames)),
      { ...t5Lora('text_encoder', 1), flat: ['lora_te_', 'lora_te1_', 'lora_te3_'] },
    ],
    // Adapters for FLUX.1 are given to Chroma too.
    signs: [{ models: 'Chroma', module: /distilled_guidance_layer/ }, ...FLUX_SIGNS],
  },
  open: openChroma,
};

function openChroma(components: ComponentAccess): FamilyModel {
  const config = readChromaConfig(components.get('transformer').config, 'transformer/config.json');
  return openTransformer<Chroma>(components, {
    page: (table) => chroma(config, table),
    latentChannels: config.channels,
    ranks: { tokens: { heads: config.heads } },
    guides: (guidance) => guidance > 1,
    async checkTexts() {
      requireWidth('joint_attention_dim', config.textDims, 'text_encoder', await checkT5(components, T5));
    },
    async encode(request, guided) {
      const { maxSequenceLength: count = MOST_TOKENS, options } = request;
      return readT5(components, T5, promptsOf(request, guided), { count, padding: 'one', options });
    },
    step(given, scope) {
      const { rows, columns, values } = chromaPlaces(config);
      const places = scope.hold(given.device.tensor('step', 'places of modulation', [rows, columns], values));
      return streamStep(given, scope, {
        patch: 2,
        dims: config.dims,
        rotateText: (tokens) => fluxTextRotations(config, tokens),
        rotateImage: (grid) => fluxRotations(config, grid),
        scale: given.request.values.guidance,
        pass(tape, { time }) {
          // Both texts have one modulation.
          const modulation = given.page.modulate(time, places.on(tape));
          return (inputs) => given.page.forward({ ...inputs, modulation });
        },
      });
    },
  });
}
