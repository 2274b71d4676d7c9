// The model of PixArt: a transformer over the patches of an image, which reads states of a text. Guidance computes the prompt and the negative
// prompt as two items of one pass.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { guidance } from '../../../../kernels/guidance.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import { PATCH, readPixArtConfig, type PixArtConfig } from '../../../../models/image/pixart-config.ts';
import { pixart, type PixArt, type SizeInputs } from '../../../../models/image/pixart.ts';
import { sincosPlaces } from '../../../../models/image/sincos-places.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { Pipeline } from '../../../../files/pipeline/pipeline-index.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared, RunRequest } from '../../blocks/family.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import { joinTexts } from '../../blocks/joined-texts.ts';
import { nearestBin } from '../../blocks/resolution-bins.ts';
import { checkT5, readT5, type T5Components } from '../../blocks/t5-texts.ts';
import {
  prepareTransformer,
  recordPredictor,
  requireWidth,
  TRANSFORMER,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';

const T5: T5Components = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
/** Pixels along one side of a latent. */
const PIXELS = 8;
/** Default limits on the tokens of a prompt that are read. */
const ALPHA_TOKENS = 120;
const SIGMA_TOKENS = 300;
/** Indices of a step's scalars. */
const GUIDANCE = 0;
const INPUT_SCALE = 1;

export type PixArtArguments = CallArguments;

const guides = (scale: number): boolean => scale > 1;

export function openPixArt(
  components: ComponentAccess,
  { className }: Pick<Pipeline, 'className'>,
): FamilyModel {
  const config = readPixArtConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => pixart(config, table);
  const most = className === 'PixArtAlphaPipeline' ? ALPHA_TOKENS : SIGMA_TOKENS;
  const side = config.sampleSize;

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    sampleSize: { height: side, width: side },
    drawnSize: (size) => nearestBin(size, PIXELS * side),
    guides,
    checkRequest: (request) => checkLength(request),
    async checkFiles() {
      requireWidth('caption_channels', config.textDims, 'text_encoder', await checkT5(components, T5));
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { maxSequenceLength: count = most, options } = request;
      const texts = await readT5(components, T5, textsOf(request), { count, padding: 'none', options });
      return prepareTransformer(components, page, request, {
        tensors: texts,
        tokens: texts.at(-1)!.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, texts }),
      });
    },
  };
}

/** The negative prompt, under guidance, and the prompt, as diffusers passes them to the tokenizer. */
function textsOf({ prompt, values }: RunRequest): string[] {
  const texts = guides(values.guidance) ? [values.negativePrompt, prompt] : [prompt];
  return texts.map((text) => text.toLowerCase().trim());
}

interface PredictorRequest extends TransformerRequest<PixArt> {
  config: PixArtConfig;
  /** States of the texts, [1, tokens, textDims] each. */
  texts: readonly Tensor[];
}

async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, request, latents, options } = given;
  const { device } = components;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const items = texts.length;
  const { text, counts } = await joinTexts(components, texts, page.condition, options, scope);
  const places = uploadPlaces(given, scope);
  const size = uploadSize(given, scope);
  return await recordPredictor(device, scope, given, {
    items,
    record(tape, { time, scalars }) {
      const x = repeat(latents.on(tape), items, scalars, INPUT_SCALE);
      const predicted = page.forward({
        patches: patchify(x, { size: PATCH, order: 'cpq' }), //  [items, tokens, 4 · channels]
        places: places.on(tape),
        time,
        size: size && { sides: size.sides.on(tape), ratio: size.ratio.on(tape) },
        text: text.on(tape),
        counts: counts.on(tape),
      });
      const { channels } = config; // others predict a variance, which no schedule reads
      const y = unpatchify(predicted, { size: PATCH, order: 'pqc', height, width, channels });
      return items === 1 ? y : guidance(y, scalars, GUIDANCE);
    },
    values: ({ timestep, inputScale }) => ({
      time: timestep,
      scalars: [request.values.guidance, inputScale],
    }),
  });
}

/** Positions of the patches, [1, tokens, hidden]. */
function uploadPlaces({ components, config, latents }: PredictorRequest, scope: Scope): Tensor {
  const { hidden, sampleSize, placeScale: scale } = config;
  const [rows, columns] = latents.shape.slice(1, 3).map((side) => (side as number) / PATCH) as [
    number,
    number,
  ];
  const values = sincosPlaces({ rows, columns, hidden, base: Math.floor(sampleSize / PATCH), scale });
  return scope.hold(
    components.device.tensor('step', 'positions of patches', [1, rows * columns, hidden], values),
  );
}

/** The size of the image as an input; null: the model has no such input. */
function uploadSize({ components, config, request }: PredictorRequest, scope: Scope): SizeInputs | null {
  if (!config.takesSize) return null;
  const { height, width } = request.values;
  const numbers = (label: string, ...values: number[]): Tensor =>
    scope.hold(components.device.tensor('step', label, [values.length, 1], Float32Array.from(values)));
  return {
    sides: numbers('sides of an image', height, width),
    ratio: numbers('their ratio', height / width),
  };
}
