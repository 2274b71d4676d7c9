// Lumina 2: Gemma 2 encodes a system prompt with the prompt behind it, and a transformer over the tokens of an image and of this caption
// denoises latents in patches of 2 × 2.

import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { guidanceWidths } from '../../../../kernels/guidance-rows.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import type { Json } from '../../../../models/config-values.ts';
import { readLumina2Config, type Lumina2Config } from '../../../../models/image/lumina2-config.ts';
import {
  checkLumina2Caption,
  checkLumina2Size,
  lumina2Rotations,
} from '../../../../models/image/lumina2-rope.ts';
import { lumina2, type Lumina2 } from '../../../../models/image/lumina2.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { captionPasses } from '../../blocks/caption-passes.ts';
import { checkDecoder, readDecoder, type DecoderReading } from '../../blocks/decoder-texts.ts';
import type { FamilyModel, ImageFamily, RunRequest } from '../../blocks/family.ts';
import {
  AUTOENCODER,
  denoiser,
  SCHEDULER,
  textEncoder,
  tokenizer,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import {
  combineGuided,
  openTransformer,
  requireWidth,
  type RecordedStep,
  type StepInputs,
  type TextStates,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import { allPredictions } from '../../blocks/passes.ts';
import {
  COMMON,
  flag,
  MAX_LENGTH,
  NEGATIVE,
  number,
  SIGMAS,
  SIZE,
  text,
  type CallArguments,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { decoderLora, transformerLora } from '../../layouts/lora-names.ts';
import type { Scope } from '../../recording/scope.ts';
import { TEACACHE } from '../../step-cache/teacache.ts';
import { readConfig } from '../../schedules/config.ts';
import { muOf, readSizeShift } from '../../schedules/flow-sigmas.ts';
import { LUMINA2_FILES, ORIGINAL_WORDS, originalNames } from './lumina2-layout.ts';

/** Latents along one side of a token. */
const PATCH = 2;
const TRAINED_STEPS = 1000;
/** Tokens of a caption that are read by default. */
const USUAL_TOKENS = 256;
/** The system prompt that the published models were trained with. */
const SYSTEM_PROMPT =
  'You are an assistant designed to generate superior images with the superior degree of image-text alignment based on textual prompts or user prompts.';

interface Lumina2Arguments extends CallArguments {
  /** Whether each line of the guided prediction keeps the length of the conditional one; left out: 1. */
  cfgNormalization?: number;
  /** Share of the steps, from the first on, that are guided; left out: all. */
  cfgTruncation?: number;
  systemPrompt?: string;
}

const into = (field: keyof Lumina2Arguments) => ({ call: field });

const ARGUMENTS: CallArgumentTable = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  ...SIGMAS,
  system_prompt: text(into('systemPrompt')),
  cfg_trunc_ratio: number('a number of at least 0', (value) => value >= 0, into('cfgTruncation')),
  cfg_normalization: flag(into('cfgNormalization')),
  ...MAX_LENGTH,
};

export const lumina2Family: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'lumina2',
  examples: 'Lumina-Image 2.0',
  modelIds: /lumina[-_]?(?:image[-_]?)?2|neta[-_]?(?:yume[-_]?)?lumina/i,
  components: {
    text_encoder: textEncoder('Gemma2Model', 'Gemma2ForCausalLM'),
    tokenizer: tokenizer('GemmaTokenizer', 'GemmaTokenizerFast'),
    transformer: denoiser('Lumina2Transformer2DModel'),
    vae: AUTOENCODER,
    scheduler: SCHEDULER,
  },
  pipelines: [
    {
      classes: { 'text-to-image': 'Lumina2Pipeline' },
      strength: 'ceil',
      callArguments: () => ARGUMENTS,
      correctScheduler,
    },
  ],
  defaults: { steps: 30, guidance: 4 },
  lora: {
    parts: [transformerLora({ rename: originalNames, words: ORIGINAL_WORDS }), decoderLora('text_encoder')],
    signs: [
      {
        models: 'Lumina 2',
        module:
          /(?:^|[._])(?:layers|noise_refiner|context_refiner)[._]\d+[._](?:attention|attn|feed_forward)[._]/,
        columns: 2304,
      },
    ],
  },
  files: LUMINA2_FILES,
  open: openLumina2,
};

/** Channels of the latents of the published models. */
const CHANNELS = 16;

/** diffusers' class takes the number of channels for that of tokens, so that the shift does not depend on the image's size. */
function correctScheduler(config: Json): Json {
  if (config['use_dynamic_shifting'] !== true) return config;
  const mu = muOf(readSizeShift(readConfig('Lumina2Pipeline', config)), CHANNELS);
  return { ...config, base_shift: mu, max_shift: mu };
}

/** Captions are the states before the last layer. */
const CAPTIONS: DecoderReading = {
  page: (declaration, table) => declaration.states!(table, [declaration.layers.length - 1]),
};

function openLumina2(components: ComponentAccess): FamilyModel {
  const config = readLumina2Config(components.get('transformer').config, 'transformer/config.json');
  const { factor } = readAutoencoder(components.get('vae'));
  return openTransformer<Lumina2>(components, {
    page: (table) => lumina2(config, table),
    latentChannels: config.channels,
    sampleSize: { height: config.sampleSize, width: config.sampleSize },
    guides: (guidance) => guidance > 1,
    ranks: { tokens: { heads: config.kvHeads } },
    teacache: () => TEACACHE.lumina2,
    checkRequest({ values: { height, width } }) {
      checkLumina2Size(config, height / factor / PATCH, width / factor / PATCH);
    },
    async checkTexts() {
      const { hidden } = await checkDecoder(components, CAPTIONS);
      requireWidth('cap_feat_dim', config.captionDims, 'text_encoder', hidden);
    },
    encode: (request, guided) => readCaptions(components, config, request, guided),
    step: (given, scope) => recordStep(given, config, scope),
  });
}

/** The system prompt stands before the prompt alone. */
async function readCaptions(
  components: ComponentAccess,
  config: Lumina2Config,
  { prompt, values, call, maxSequenceLength = USUAL_TOKENS, options }: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { systemPrompt = SYSTEM_PROMPT }: Lumina2Arguments = call;
  const captions = [`${systemPrompt} <Prompt Start> ${prompt}`, ...(guided ? [values.negativePrompt] : [])];
  const gemma = await components.tokenizer('tokenizer');
  const texts = captions.map((caption) => ({ ids: gemma.encode(caption).slice(0, maxSequenceLength) }));
  texts.forEach(({ ids }, i) =>
    checkLumina2Caption(config, ids.length, i === 0 ? 'prompt' : 'negativePrompt'),
  );
  return readDecoder(components, CAPTIONS, { texts, options });
}

/** Scalars of a step with normalized guidance, and of one without a negative prompt: the guidance scale, and the factor that turns a prediction. */
const [GUIDANCE, TURN] = [0, 1];

async function recordStep(
  given: TransformerRequest<Lumina2>,
  config: Lumina2Config,
  scope: Scope,
): Promise<RecordedStep> {
  const { request, height, width } = given;
  const { guidance } = request.values;
  const { cfgNormalization = 1, cfgTruncation = 1 }: Lumina2Arguments = request.call;
  const isCut = cfgTruncation < 1;
  const passes = await captionPasses(given, scope, config.dims, (tokens) =>
    lumina2Rotations(config, tokens, height / PATCH, width / PATCH),
  );
  const count = given.options.exchange?.ranks ?? passes.length;
  // The model predicts the direction from noise to the image; schedules expect the opposite direction.
  const unguided = (tape: Tape, inputs: StepInputs): Tensor => {
    const [positive] = allPredictions([passes[0]!(tape, inputs)], inputs.exchange);
    return repeat(positive!, 1, inputs.scalars, TURN);
  };
  return {
    record(tape, inputs) {
      if (count === 1) return unguided(tape, inputs);
      const own = passes.map((pass) => pass(tape, inputs));
      const [positive, negative] = allPredictions(own, inputs.exchange) as [Tensor, Tensor];
      if (cfgNormalization === 0) return combineGuided([positive, negative], inputs);
      return repeat(guidanceWidths(positive, negative, inputs.scalars, GUIDANCE), 1, inputs.scalars, TURN);
    },
    ...(count > 1 && isCut && { recordOther: unguided }),
    values({ timestep }, index) {
      const isOther = count === 1 || (index + 1) / request.calls > cfgTruncation;
      const isPlain = cfgNormalization === 0 && !isOther;
      return {
        time: 1 - timestep / TRAINED_STEPS,
        scalars: isPlain ? [-guidance, guidance - 1] : [guidance, -1],
        isOther,
      };
    },
  };
}
