// The model of Qwen-Image: a transformer over the tokens of a text and the patches of an image.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { guidanceRows } from '../../../../kernels/guidance-rows.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { readQwenImageConfig, type QwenImageConfig } from '../../../../models/image/qwen-image-config.ts';
import {
  checkQwenImageSize,
  checkQwenImageText,
  qwenImageRotations,
  type PatchGrid,
} from '../../../../models/image/qwen-image-rope.ts';
import { qwenImage, type QwenImage } from '../../../../models/image/qwen-image.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { compute } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared, RunRequest } from '../../blocks/family.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import { readQwenImageAutoencoder } from './qwen-image-autoencoder.ts';
import {
  prepareTransformer,
  recordPredictor,
  TRANSFORMER,
  uploadRotations,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
/** Tokens of a prompt that are read at most. */
const MOST_TOKENS = 1024;
const PATCHES = { size: PATCH, order: 'cpq' } as const;

const guides = (guidance: number): boolean => guidance > 1;

/** How a pipeline makes states of its texts, and of the images that it edits. */
export interface TextStates {
  /** Throws bad_checkpoint for weights that do not match the encoder's configuration, or a damaged tokenizer. */
  check(): Promise<void>;
  /**
   * Returns the states of each text, [1, tokens, columns]; the caller frees them. `check` is called with the number of tokens of each before
   * the language model is loaded.
   */
  encode(
    texts: readonly string[],
    request: RunRequest,
    check: (tokens: number, index: number) => void,
  ): Promise<Tensor[]>;
}

export function openQwenImage(components: ComponentAccess, encoder: TextStates): FamilyModel {
  const config = readQwenImageConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => qwenImage(config, table);
  const { factor } = readQwenImageAutoencoder(components.get('vae'));
  const gridOf = ({ width, height }: Pick<RunRequest['values'], 'width' | 'height'>): PatchGrid => ({
    rows: height / factor / PATCH,
    columns: width / factor / PATCH,
  });

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    guides,
    checkRequest(request) {
      checkLength(request, MOST_TOKENS);
      checkQwenImageSize(gridOf(request.values));
    },
    async checkFiles() {
      await encoder.check();
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const states = await encoder.encode(texts, request, (tokens, i) =>
        checkQwenImageText(tokens, [gridOf(values)], i === 0 ? 'prompt' : 'negativePrompt'),
      );
      return prepareTransformer(components, page, request, {
        tensors: states,
        tokens: states[0]!.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, texts: states }),
      });
    },
  };
}

/** `references`: the images that are edited. */
interface PredictorRequest extends TransformerRequest<QwenImage> {
  config: QwenImageConfig;
  /** States of the prompt and, under guidance, of the negative prompt. */
  texts: readonly Tensor[];
}

/** Each text has a pass of its own, because texts differ in length. */
async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, page, texts, references, request, latents } = given;
  const { device } = components;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const sides: Side[] = [];
  for (const text of texts) sides.push(await prepareSide(given, text, scope));
  const zero = scope.hold(device.tensor('step', 'time of clean images', [1, 1], new Float32Array(1)));
  return await recordPredictor(device, scope, given, {
    record(tape, { time, scalars }) {
      const patches = patchify(latents.on(tape), PATCHES); //    [1, tokens, 4 · channels]
      const others = references.map((one) => patchify(one.on(tape), PATCHES));
      const [positive, negative] = sides.map(({ text, words, images: [image, ...behind] }) =>
        page.forward({
          patches,
          time,
          zero: zero.on(tape),
          text: text.on(tape),
          rotations: { text: words.on(tape), image: image!.on(tape) },
          references: others.map((one, i) => ({ patches: one, rotations: behind[i]!.on(tape) })),
        }),
      );
      const guided = negative ? guidanceRows(positive!, negative, scalars, 0) : positive!;
      return unpatchify(guided, { ...PATCHES, height, width });
    },
    values: ({ timestep }) => ({ time: timestep, scalars: [request.values.guidance] }),
  });
}

/** The conditioned text [1, tokens, hidden], and the rotations of its tokens and of each image's beside it. */
interface Side {
  text: Tensor;
  words: Tensor;
  /** The image that is denoised, then the references. */
  images: Tensor[];
}

async function prepareSide(
  { components, config, page, latents, references, options }: PredictorRequest,
  states: Tensor,
  scope: Scope,
): Promise<Side> {
  const { device } = components;
  const grids = [latents, ...references].map(({ shape }) => {
    const [, height, width] = shape as [number, number, number];
    return { rows: height / PATCH, columns: width / PATCH };
  });
  const turns = qwenImageRotations(config, states.shape[1] as number, grids);
  const upload = (label: string, values: Float32Array): Tensor =>
    uploadRotations(device, scope, { label, dims: config.dims }, values);
  const [text] = await compute(device, options, (tape) => [page.condition(states.on(tape))]);
  return {
    text: scope.hold(text!),
    words: upload('rotations of a text', turns.text),
    images: turns.images.map((values) => upload('rotations of an image', values)),
  };
}
