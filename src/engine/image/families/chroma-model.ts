// The model of Chroma: a transformer over the tokens of a text and the patches of an image. T5's padding is left out but for its first
// token, which is what masks do in which no token attends to the others.

import { EngineError } from '../../../files/error.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { patchify, unpatchify } from '../../../kernels/patchify.ts';
import { chroma, chromaPlaces, type Chroma } from '../../../models/image/chroma.ts';
import { readChromaConfig, type ChromaConfig } from '../../../models/image/chroma-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../models/image/flux-rope.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { allocateTensor, compute, freeTensors, recordTape, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { writeRows, type Predictor } from '../denoiser.ts';
import { createScalars } from '../scalars.ts';
import { Scope } from '../scope.ts';
import type { FamilyModel, Prepared, RunRequest } from './family.ts';
import { checkLength, MOST_TOKENS } from './flux-texts.ts';
import { checkT5, readT5, type T5Components } from './t5-texts.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
const PATCHES = { size: PATCH, order: 'cpq' } as const;
const T5: T5Components = { encoder: 'text_encoder', tokenizer: 'tokenizer' };

const guides = (guidance: number): boolean => guidance > 1;

export function openChroma(components: ComponentAccess): FamilyModel {
  const { device } = components;
  const config = readChromaConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => chroma(config, table);

  return {
    latentChannels: config.channels,
    fillsMasks: false,
    sampleSize: null,
    mostClipSkip: 0,
    unreadClipLayers: 0,
    guides,
    checkRequest: checkLength,
    async checkFiles() {
      const columns = await checkT5(components, T5);
      if (columns !== config.textDims) {
        const message = `transformer/config.json: joint_attention_dim is ${config.textDims}, and the states of text_encoder have ${columns} columns: take the text encoder of the same pipeline`;
        throw new EngineError('bad_checkpoint', message, { param: 'joint_attention_dim' });
      }
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values, maxSequenceLength: count = MOST_TOKENS, options } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const states = await readT5(components, T5, texts, { count, padding: 'one', options });
      return {
        tokens: states[0]!.shape[1] as number,
        async load() {
          const weights = await components.load('transformer', 'denoiser', page, request.options);
          const given = { components, config, page: weights.page, texts: states, request };
          return {
            record: (latents, output, _, way) => openPredictor({ ...given, latents, output, options: way }),
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
  config: ChromaConfig;
  page: Chroma;
  /** States of the prompt and, under guidance, of the negative prompt. */
  texts: readonly Tensor[];
  request: RunRequest;
  latents: Tensor;
  output: Tensor;
  options: ComputeOptions;
}

/** Each text has a pass of its own, because texts differ in length; both have one modulation. */
async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, request, latents, output, options } = given;
  const { device } = components;
  const { guidance: scale } = request.values;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const sides: Side[] = [];
  for (const states of texts) sides.push(await prepareSide(given, states, scope));
  const image = fluxRotations(config, { image: 0, rows: height / PATCH, columns: width / PATCH });
  const imageRotations = tableOf(given, scope, 'rotations of an image', image);
  const { rows, columns, values } = chromaPlaces(config);
  const places = scope.hold(device.tensor('step', 'places of modulation', [rows, columns], values));
  const scalars = scope.use(createScalars(device, 'scalars of a step', 2));
  const flag = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  const time = scope.hold(allocateTensor(device, 'time step', [1, 1]));
  const recording = await recordTape(
    device,
    options,
    (tape) => {
      const patches = patchify(latents.on(tape), PATCHES); //        [1, tokens, 4 · channels]
      const modulation = page.modulate(time.on(tape), places.on(tape));
      const predictions = sides.map(({ text, words, both }) =>
        page.forward({
          patches,
          text: text.on(tape),
          rotations: { text: words.on(tape), image: imageRotations.on(tape), both: both.on(tape) },
          modulation,
        }),
      );
      const [positive] = predictions as [Tensor];
      const guided =
        predictions.length === 1 ? positive : linearCombination(predictions, scalars.region, flag.region!);
      return [unpatchify(guided, { ...PATCHES, height, width })];
    },
    [output],
  );
  scope.use(recording);
  const owner = scope.move();
  return {
    run({ timestep }) {
      scalars.write([scale, 1 - scale]);
      writeRows(device, time, Float32Array.of(timestep));
      recording.run();
    },
    times: () => recording.times(),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
}

/** The conditioned text [1, tokens, hidden], and the rotations of its tokens, and of these and the image's. */
interface Side {
  text: Tensor;
  words: Tensor;
  both: Tensor;
}

async function prepareSide(given: PredictorRequest, states: Tensor, scope: Scope): Promise<Side> {
  const { components, config, page, latents, options } = given;
  const [, height, width] = latents.shape as [number, number, number];
  const words = fluxTextRotations(config, states.shape[1] as number);
  const image = fluxRotations(config, { image: 0, rows: height / PATCH, columns: width / PATCH });
  const both = new Float32Array(words.length + image.length);
  both.set(words);
  both.set(image, words.length);
  const [text] = await compute(components.device, options, (tape) => [page.condition(states.on(tape))]);
  return {
    text: scope.hold(text!),
    words: tableOf(given, scope, 'rotations of a text', words),
    both: tableOf(given, scope, 'rotations of both', both),
  };
}

function tableOf(
  { components, config: { dims } }: PredictorRequest,
  scope: Scope,
  label: string,
  values: Float32Array,
): Tensor {
  return scope.hold(components.device.tensor('step', label, [values.length / dims, dims], values));
}
