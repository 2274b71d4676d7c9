// The model of Qwen-Image: a transformer over the tokens of a text and the patches of an image, and of those that are edited. Qwen2.5-VL's
// language model gives the last states of a prompt in a fixed template, without those of the template's beginning.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { guidanceRows } from '../../../../kernels/guidance-rows.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import type { PatchGrid } from '../../../../models/image/patch-grid.ts';
import { readQwenImageConfig, type QwenImageConfig } from '../../../../models/image/qwen-image-config.ts';
import {
  checkQwenImageSize,
  checkQwenImageText,
  qwenImageRotations,
} from '../../../../models/image/qwen-image-rope.ts';
import { qwenImage, type QwenImage } from '../../../../models/image/qwen-image.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { checkDecoder, readDecoder, type DecoderReading } from '../../blocks/decoder-texts.ts';
import type { FamilyModel, RunRequest } from '../../blocks/family.ts';
import {
  conditionOnce,
  openTransformer,
  promptsOf,
  seenByAll,
  uploadRotations,
  type RecordedStep,
  type TextStates,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import { allPredictions } from '../../blocks/passes.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Scope } from '../../recording/scope.ts';

/** Latents along one side of a token. */
const PATCH = 2;
const PATCHES = { size: PATCH, order: 'cpq' } as const;
/** Tokens of a prompt that are read at most, and by default. */
const MOST_TOKENS = 1024;
const USUAL_TOKENS = 512;

/** How a pipeline makes states of its texts, and of the images that it edits. */
export interface QwenTexts {
  /** Throws bad_checkpoint for weights that do not match the encoder's configuration, or a damaged tokenizer. */
  check(): Promise<unknown>;
  /**
   * Returns the states of each text; the caller frees them. `check` is called with the number of tokens of each before the language model is
   * loaded.
   */
  encode(
    texts: readonly string[],
    request: RunRequest,
    check: (tokens: number, index: number) => void,
  ): Promise<TextStates[]>;
}

export function openQwenImage(components: ComponentAccess, texts: QwenTexts): FamilyModel {
  const config = readQwenImageConfig(components.get('transformer').config, 'transformer/config.json');
  const { factor } = readAutoencoder(components.get('vae'));
  const gridOf = ({ width, height }: Pick<RunRequest['values'], 'width' | 'height'>): PatchGrid => ({
    rows: height / factor / PATCH,
    columns: width / factor / PATCH,
  });
  return openTransformer<QwenImage>(components, {
    page: (table) => qwenImage(config, table),
    latentChannels: config.channels,
    mostTokens: MOST_TOKENS,
    guides: (guidance) => guidance > 1,
    ranks: { tokens: { heads: config.heads } },
    checkRequest: ({ values }) => checkQwenImageSize(gridOf(values)),
    checkTexts: async () => void (await texts.check()),
    encode: (request, guided) =>
      texts.encode(promptsOf(request, guided), request, (tokens, i) =>
        checkQwenImageText(tokens, [gridOf(request.values)], i === 0 ? 'prompt' : 'negativePrompt'),
      ),
    step: (given, scope) => recordStep(given, config, scope),
  });
}

/** Each text has a pass of its own, because texts differ in length. The references of a request are the images that are edited. */
async function recordStep(
  given: TransformerRequest<QwenImage>,
  config: QwenImageConfig,
  scope: Scope,
): Promise<RecordedStep> {
  const { device, page, images, references, request, latents, height, width } = given;
  const sides: Side[] = [];
  for (const { states } of given.texts) sides.push(await prepareSide(given, config, states, scope));
  const zero = scope.hold(device.tensor('step', 'time of clean images', [1, 1], new Float32Array(1)));
  return {
    record(tape, { time, scalars, exchange }) {
      const patches = patchify(latents.on(tape), PATCHES); //    [images, tokens, 4 · channels]
      const others = references.map((one) => seenByAll(patchify(one.on(tape), PATCHES), images));
      const own = sides.map(({ text, words, images: [image, ...behind] }) =>
        page.forward({
          patches,
          time,
          zero: zero.on(tape),
          text: text.on(tape),
          rotations: { text: words.on(tape), image: image!.on(tape) },
          references: others.map((one, i) => ({ patches: one, rotations: behind[i]!.on(tape) })),
        }),
      );
      const [positive, negative] = allPredictions(own, exchange);
      const guided = negative ? guidanceRows(positive!, negative, scalars, 0) : positive!;
      return unpatchify(guided, { ...PATCHES, height, width });
    },
    values: ({ timestep }) => ({ time: timestep, scalars: [request.values.guidance] }),
  };
}

/** The conditioned texts [images, tokens, hidden], and the rotations of its tokens and of each image's beside it. */
interface Side {
  text: Tensor;
  words: Tensor;
  /** The image that is denoised, then the references. */
  images: Tensor[];
}

async function prepareSide(
  given: TransformerRequest<QwenImage>,
  config: QwenImageConfig,
  states: Tensor,
  scope: Scope,
): Promise<Side> {
  const { device, page, latents, references } = given;
  const grids = [latents, ...references].map(({ shape }) => {
    const [, rows, columns] = shape as [number, number, number];
    return { rows: rows / PATCH, columns: columns / PATCH };
  });
  const turns = qwenImageRotations(config, states.shape[1] as number, grids);
  const upload = (label: string, values: Float32Array): Tensor =>
    uploadRotations(device, scope, { label, dims: config.dims }, values);
  return {
    text: await conditionOnce(given, scope, (tape) => page.condition(states.on(tape))),
    words: upload('rotations of a text', turns.text),
    images: turns.images.map((values) => upload('rotations of an image', values)),
  };
}

/** States behind the final norm; the vision tower is not read. */
export const QWEN: DecoderReading = {
  page(declaration, table) {
    table.ignore(/^visual\./);
    return declaration.embed!(table);
  },
};

/** Tokens of the template before the prompt, whose states are left out. */
const DROPPED = 34;
const SYSTEM =
  'Describe the image by detailing the color, shape, size, texture, quantity, text, spatial relationships of the objects and background:';

const templated = (prompt: string): string =>
  `<|im_start|>system\n${SYSTEM}<|im_end|>\n<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n`;

/** The texts of pipelines that draw from a text. At most `maxSequenceLength` tokens behind the template's beginning are read. */
export const plainTexts = (components: ComponentAccess): QwenTexts => ({
  check: () => checkDecoder(components, QWEN),
  async encode(texts, { maxSequenceLength = USUAL_TOKENS, options }, check) {
    const tokenizer = await components.tokenizer('tokenizer');
    const read = texts.map((text) => ({
      ids: tokenizer
        .encode(templated(text), { addSpecialTokens: false })
        .slice(0, DROPPED + maxSequenceLength),
    }));
    read.forEach(({ ids }, i) => check(ids.length - DROPPED, i));
    return readDecoder(components, QWEN, { texts: read, dropped: DROPPED, options });
  },
});
