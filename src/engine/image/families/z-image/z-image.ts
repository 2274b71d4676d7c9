// Z-Image and Z-Image-Turbo: a Qwen3 language model encodes the prompt, written as a user's message, and a transformer over the tokens of an
// image and of this caption denoises latents in patches of 2 × 2.

import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { limitLength } from '../../../../kernels/guidance.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import { readZImageConfig, type ZImageConfig } from '../../../../models/image/z-image-config.ts';
import { checkZImageSize, longestCaption, zImageRotations } from '../../../../models/image/z-image-rope.ts';
import { zImage as zImagePage, type ZImage } from '../../../../models/image/z-image.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { captionPasses } from '../../blocks/caption-passes.ts';
import { openTemplate } from '../../blocks/chat-template.ts';
import { checkDecoder, readDecoder, type DecoderReading } from '../../blocks/decoder-texts.ts';
import type { FamilyModel, ImageFamily, RunRequest } from '../../blocks/family.ts';
import {
  AUTOENCODER,
  denoiser,
  QWEN_TOKENIZER,
  SCHEDULER,
  textEncoder,
  TRANSFORMER_FAMILY,
  classesOf,
} from '../../blocks/shared-components.ts';
import {
  combineGuided,
  MOST_TOKENS,
  openTransformer,
  promptsOf,
  type RecordedStep,
  type StepInputs,
  type TextStates,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import { allPredictions } from '../../blocks/passes.ts';
import {
  byTask,
  COMMON,
  isReal,
  MAX_LENGTH,
  NEGATIVE,
  number,
  SIGMAS,
  SIZE,
  type CallArguments,
} from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { decoderLora, transformerLora } from '../../layouts/lora-names.ts';
import type { Scope } from '../../recording/scope.ts';
import { TEACACHE } from '../../step-cache/teacache.ts';
import { originalNames, Z_IMAGE_FILES } from './z-image-layout.ts';

/** Latents along one side of a token. */
const PATCH = 2;
const TRAINED_STEPS = 1000;

interface ZImageArguments extends CallArguments {
  /** Limit on the length of the guided prediction, as a multiple of the conditional one's; 0: no limit. */
  cfgNormalization?: number;
  /** Guidance stops when the denoised share exceeds this value; above 1: never. */
  cfgTruncation?: number;
}

const into = (field: keyof ZImageArguments) => ({ call: field });

/** Parts of the original program's names that have underscores. */
const LORA_WORDS = [
  ...['noise_refiner', 'context_refiner', 'feed_forward', 'cap_embedder', 't_embedder', 'x_embedder'],
  ...['final_layer', 'adaLN_modulation', 'to_q', 'to_k', 'to_v', 'to_out', 'q_norm', 'k_norm'],
];

export const zImage: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'z-image',
  examples: 'Z-Image, Z-Image-Turbo',
  modelIds: /z[-_]?image/i,
  components: {
    text_encoder: textEncoder('Qwen3Model', 'Qwen3ForCausalLM'),
    tokenizer: QWEN_TOKENIZER,
    transformer: denoiser('ZImageTransformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: classesOf('ZImage'),
      strength: 'ceil',
      callArguments: byTask(
        {
          ...COMMON,
          ...SIZE,
          ...NEGATIVE,
          ...SIGMAS,
          cfg_normalization: {
            wanted: 'true, false or a number of at least 0',
            fits: (value) => typeof value === 'boolean' || (isReal(value) && value >= 0),
            into: into('cfgNormalization'),
          },
          cfg_truncation: number('a number of at least 0', (value) => value >= 0, into('cfgTruncation')),
          ...MAX_LENGTH,
        },
        {},
      ),
    },
  ],
  defaults: { steps: 50, guidance: 5, size: 1024 },
  namedDefaults: [[/z[-_]?image.*turbo/i, { steps: 8, guidance: 0, size: 1024 }]],
  lora: {
    parts: [transformerLora({ rename: originalNames, words: LORA_WORDS }), decoderLora('text_encoder')],
    signs: [
      {
        models: 'Z-Image',
        module: /(?:^|[._])(?:layers|noise_refiner|context_refiner)[._]\d+[._](?:attention|feed_forward)[._]/,
        width: 3840,
      },
    ],
  },
  files: Z_IMAGE_FILES,
  open: openZImage,
};

/** Captions are the states before the last layer. */
const CAPTIONS: DecoderReading = {
  page: (declaration, table) => declaration.states!(table, [declaration.layers.length - 1]),
};

function openZImage(components: ComponentAccess): FamilyModel {
  const config = readZImageConfig(components.get('transformer').config, 'transformer/config.json');
  const { factor } = readAutoencoder(components.get('vae'));
  return openTransformer<ZImage>(components, {
    page: (table) => zImagePage(config, table),
    latentChannels: config.channels,
    mostTokens: longestCaption(config),
    guides: (guidance) => guidance > 0,
    ranks: { tokens: { heads: config.heads } },
    teacache: () => TEACACHE.zImage,
    checkRequest({ values: { height, width } }) {
      checkZImageSize(config, height / factor / PATCH, width / factor / PATCH);
    },
    async checkTexts() {
      await openTemplate(components);
      await checkDecoder(components, CAPTIONS);
    },
    encode: (request, guided) => readCaptions(components, request, guided),
    step: (given, scope) => recordStep(given, config, scope),
  });
}

async function readCaptions(
  components: ComponentAccess,
  request: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { maxSequenceLength = MOST_TOKENS, options } = request;
  const { tokenizer, template } = await openTemplate(components);
  const texts = promptsOf(request, guided).map((content) => {
    const messages = [{ role: 'user', content }];
    const rendered = template.render({ messages, kwargs: { enable_thinking: true } });
    return { ids: tokenizer.encode(rendered, { addSpecialTokens: false }).slice(0, maxSequenceLength) };
  });
  return readDecoder(components, CAPTIONS, { texts, options });
}

async function recordStep(
  given: TransformerRequest<ZImage>,
  config: ZImageConfig,
  scope: Scope,
): Promise<RecordedStep> {
  const { request, height, width } = given;
  const { guidance } = request.values;
  const { cfgNormalization = 0, cfgTruncation = 1 }: ZImageArguments = request.call;
  const passes = await captionPasses(given, scope, config.dims, (tokens) =>
    zImageRotations(config, tokens, height / PATCH, width / PATCH),
  );
  const count = given.options.exchange?.ranks ?? passes.length;
  const isCut = count > 1 && cfgTruncation < 1;
  // The model predicts the direction from noise to the image; schedules expect the opposite direction.
  const turned = (x: Tensor, { scalars }: StepInputs): Tensor => repeat(x, 1, scalars, 0);
  return {
    record(tape, inputs) {
      const own = passes.map((pass) => pass(tape, inputs));
      const predictions = allPredictions(own, inputs.exchange);
      const [positive] = predictions as [Tensor];
      if (predictions.length === 1) return turned(positive, inputs);
      const guided = combineGuided(predictions, inputs);
      if (cfgNormalization > 0) limitLength(guided, positive, cfgNormalization);
      return guided;
    },
    ...(isCut && {
      recordOther(tape: Tape, inputs: StepInputs) {
        const [positive] = allPredictions([passes[0]!(tape, inputs)], inputs.exchange);
        return turned(positive!, inputs);
      },
    }),
    values({ timestep }) {
      const share = 1 - timestep / TRAINED_STEPS;
      const unguided = count === 1 || (isCut && share > cfgTruncation);
      const scalars = unguided ? [-1] : [-(1 + guidance), guidance];
      return { time: share * config.timeScale, scalars, isOther: unguided };
    },
  };
}
