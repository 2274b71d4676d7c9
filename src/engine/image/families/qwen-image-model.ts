// The model of Qwen-Image: a transformer over the tokens of a text and the patches of an image.

import type { Tensor } from '../../../gpu/tensor.ts';
import { guidanceRows } from '../../../kernels/guidance-rows.ts';
import { patchify, unpatchify } from '../../../kernels/patchify.ts';
import { readQwenImageConfig, type QwenImageConfig } from '../../../models/image/qwen-image-config.ts';
import { qwenImageRotations } from '../../../models/image/qwen-image-rope.ts';
import { qwenImage, type QwenImage } from '../../../models/image/qwen-image.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { allocateTensor, compute, freeTensors, recordTape, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { writeRows, type Predictor } from '../denoiser.ts';
import { createScalars } from '../scalars.ts';
import { Scope } from '../scope.ts';
import type { FamilyModel, Prepared, RunRequest } from './family.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
const PATCHES = { size: PATCH, order: 'cpq' } as const;

const guides = (guidance: number): boolean => guidance > 1;

/** How a pipeline makes states of its texts, and of the images that it edits. */
export interface TextStates {
  /** Throws bad_checkpoint for weights that do not match the encoder's configuration, or a damaged tokenizer. */
  check(): Promise<void>;
  /** Returns the states of each text, [1, tokens, columns]; the caller frees them. */
  encode(texts: readonly string[], request: RunRequest): Promise<Tensor[]>;
}

export function openQwenImage(components: ComponentAccess, encoder: TextStates): FamilyModel {
  const { device } = components;
  const config = readQwenImageConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => qwenImage(config, table);

  return {
    latentChannels: config.channels,
    fillsMasks: false,
    sampleSize: null,
    mostClipSkip: 0,
    unreadClipLayers: 0,
    guides,
    async checkFiles() {
      await encoder.check();
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const states = await encoder.encode(texts, request);
      return {
        tokens: states[0]!.shape[1] as number,
        async load(references) {
          const weights = await components.load('transformer', 'denoiser', page, request.options);
          const given = { components, config, page: weights.page, texts: states, references, request };
          return {
            record: (latents, output, _, options) => openPredictor({ ...given, latents, output, options }),
            [Symbol.dispose]: () => weights[Symbol.dispose](),
          };
        },
        [Symbol.dispose]: () => freeTensors(device, states),
      };
    },
  };
}

interface PredictorRequest {
  components: ComponentAccess;
  config: QwenImageConfig;
  page: QwenImage;
  /** States of the prompt and, under guidance, of the negative prompt. */
  texts: readonly Tensor[];
  /** Latents of the images that are edited, [1, height, width, channels]. */
  references: readonly Tensor[];
  request: RunRequest;
  latents: Tensor;
  output: Tensor;
  options: ComputeOptions;
}

/** Each text has a pass of its own, because texts differ in length. */
async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, page, texts, references, request, latents, output, options } = given;
  const { device } = components;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const sides: Side[] = [];
  for (const text of texts) sides.push(await prepareSide(given, text, scope));
  const scalars = scope.use(createScalars(device, 'scalars of a step', 1));
  const time = scope.hold(allocateTensor(device, 'time step', [1, 1]));
  const zero = scope.hold(device.tensor('step', 'time of clean images', [1, 1], new Float32Array(1)));
  const recording = await recordTape(
    device,
    options,
    (tape) => {
      const patches = patchify(latents.on(tape), PATCHES); //    [1, tokens, 4 · channels]
      const others = references.map((one) => patchify(one.on(tape), PATCHES));
      const [positive, negative] = sides.map(({ text, words, images: [image, ...behind] }) =>
        page.forward({
          patches,
          time: time.on(tape),
          zero: zero.on(tape),
          text: text.on(tape),
          rotations: { text: words.on(tape), image: image!.on(tape) },
          references: others.map((one, i) => ({ patches: one, rotations: behind[i]!.on(tape) })),
        }),
      );
      const guided = negative ? guidanceRows(positive!, negative, scalars.region, 0) : positive!;
      return [unpatchify(guided, { ...PATCHES, height, width })];
    },
    [output],
  );
  scope.use(recording);
  const owner = scope.move();
  return {
    run({ timestep }) {
      scalars.write([request.values.guidance]);
      writeRows(device, time, Float32Array.of(timestep));
      recording.run();
    },
    times: () => recording.times(),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
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
  const table = (label: string, values: Float32Array): Tensor =>
    scope.hold(device.tensor('step', label, [values.length / config.dims, config.dims], values));
  const [text] = await compute(device, options, (tape) => [page.condition(states.on(tape))]);
  return {
    text: scope.hold(text!),
    words: table('rotations of a text', turns.text),
    images: turns.images.map((values) => table('rotations of an image', values)),
  };
}
