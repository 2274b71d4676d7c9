// The model of Chroma: a transformer over the tokens of a text and the patches of an image. T5's padding is left out but for its first
// token, which is what masks do in which no token attends to the others.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { chroma, chromaPlaces, type Chroma } from '../../../../models/image/chroma.ts';
import { readChromaConfig, type ChromaConfig } from '../../../../models/image/chroma-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../../models/image/flux-rope.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { compute } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared } from '../../blocks/family.ts';
import { checkLength, MOST_TOKENS } from '../../blocks/prompt-length.ts';
import { checkT5, readT5, type T5Components } from '../../blocks/t5-texts.ts';
import {
  combineGuided,
  guidedScalars,
  prepareTransformer,
  recordPredictor,
  requireWidth,
  TRANSFORMER,
  uploadRotations,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
const PATCHES = { size: PATCH, order: 'cpq' } as const;
const T5: T5Components = { encoder: 'text_encoder', tokenizer: 'tokenizer' };

const guides = (guidance: number): boolean => guidance > 1;

export function openChroma(components: ComponentAccess): FamilyModel {
  const config = readChromaConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => chroma(config, table);

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    guides,
    checkRequest: (request) => checkLength(request),
    async checkFiles() {
      requireWidth('joint_attention_dim', config.textDims, 'text_encoder', await checkT5(components, T5));
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values, maxSequenceLength: count = MOST_TOKENS, options } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const states = await readT5(components, T5, texts, { count, padding: 'one', options });
      return prepareTransformer(components, page, request, {
        tensors: states,
        tokens: states[0]!.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, texts: states }),
      });
    },
  };
}

interface PredictorRequest extends TransformerRequest<Chroma> {
  config: ChromaConfig;
  /** States of the prompt and, under guidance, of the negative prompt. */
  texts: readonly Tensor[];
}

/** Each text has a pass of its own, because texts differ in length; both have one modulation. */
async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, request, latents } = given;
  const { device } = components;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const sides: Side[] = [];
  const image = fluxRotations(config, { image: 0, rows: height / PATCH, columns: width / PATCH });
  for (const states of texts) sides.push(await prepareSide(given, states, image, scope));
  const label = 'rotations of an image';
  const imageRotations = uploadRotations(device, scope, { label, dims: config.dims }, image);
  const { rows, columns, values } = chromaPlaces(config);
  const places = scope.hold(device.tensor('step', 'places of modulation', [rows, columns], values));
  return await recordPredictor(device, scope, given, {
    record(tape, inputs) {
      const patches = patchify(latents.on(tape), PATCHES); //        [1, tokens, 4 · channels]
      const modulation = page.modulate(inputs.time, places.on(tape));
      const predictions = sides.map(({ text, words, both }) =>
        page.forward({
          patches,
          text: text.on(tape),
          rotations: { text: words.on(tape), image: imageRotations.on(tape), both: both.on(tape) },
          modulation,
        }),
      );
      return unpatchify(combineGuided(predictions, inputs), { ...PATCHES, height, width });
    },
    values: ({ timestep }) => ({ time: timestep, scalars: guidedScalars(request.values.guidance) }),
  });
}

/** The conditioned text [1, tokens, hidden], and the rotations of its tokens, and of these and the image's. */
interface Side {
  text: Tensor;
  words: Tensor;
  both: Tensor;
}

/** `image`: rotations of the image's tokens. */
async function prepareSide(
  { components, config, page, options }: PredictorRequest,
  states: Tensor,
  image: Float32Array,
  scope: Scope,
): Promise<Side> {
  const words = fluxTextRotations(config, states.shape[1] as number);
  const [text] = await compute(components.device, options, (tape) => [page.condition(states.on(tape))]);
  const upload = (label: string, ...parts: Float32Array[]): Tensor =>
    uploadRotations(components.device, scope, { label, dims: config.dims }, ...parts);
  return {
    text: scope.hold(text!),
    words: upload('rotations of a text', words),
    both: upload('rotations of both', words, image),
  };
}
