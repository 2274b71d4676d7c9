// The model of FLUX.2: a transformer over the tokens of a text and the latents of images, each of which is a token.

import { EngineError } from '../../../files/error.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { joinTokens } from '../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { patchify, unpatchify } from '../../../kernels/patchify.ts';
import { flux2, type Flux2 } from '../../../models/image/flux2.ts';
import { readFlux2Config, type Flux2Config } from '../../../models/image/flux2-config.ts';
import { flux2Rotations, flux2TextRotations } from '../../../models/image/flux2-rope.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { allocateTensor, compute, freeTensors, recordTape, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { writeRows, type Predictor } from '../denoiser.ts';
import { createScalars } from '../scalars.ts';
import { Scope } from '../scope.ts';
import type { FamilyModel, Prepared, RunRequest } from './family.ts';
import type { Flux2Texts } from './flux2-texts.ts';

/** Latents along one side of a token. */
export const PATCH = 1;
const PATCHES = { size: PATCH, order: 'cpq' } as const;
/** Factor on the guidance scale where it is embedded like a time step. */
const GUIDANCE_SCALE = 1000;

interface Flux2Options {
  texts: Flux2Texts;
  /** Whether guidance above 1 takes a second pass with the negative prompt. */
  guided: boolean;
}

export function openFlux2(
  components: ComponentAccess,
  { texts: encoder, guided }: Flux2Options,
): FamilyModel {
  const { device } = components;
  const config = readFlux2Config(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => flux2(config, table);
  const guides = (guidance: number): boolean => guided && guidance > 1;

  return {
    latentChannels: config.channels,
    fillsMasks: false,
    sampleSize: null,
    mostClipSkip: 0,
    unreadClipLayers: 0,
    guides,
    ignoresGuidance: !guided && !config.distilledGuidance,
    checkRequest: ({ call }) => encoder.checkLayers(call, config.textDims),
    async checkFiles() {
      const columns = await encoder.check();
      if (columns !== config.textDims) {
        const message = `transformer/config.json: joint_attention_dim is ${config.textDims}, and the states of text_encoder have ${columns} columns: take the text encoder of the same pipeline`;
        throw new EngineError('bad_checkpoint', message, { param: 'joint_attention_dim' });
      }
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
  config: Flux2Config;
  page: Flux2;
  /** States of the prompt and, under guidance, of the negative prompt; of equally many tokens. */
  texts: readonly Tensor[];
  /** Latents of the images that are seen beside those that are denoised, [1, height, width, channels]. */
  references: readonly Tensor[];
  request: RunRequest;
  latents: Tensor;
  output: Tensor;
  options: ComputeOptions;
}

async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, references, request, latents, output, options } = given;
  const { device } = components;
  const { guidance: scale } = request.values;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const turns = uploadRotations(given, scope);
  const words: Tensor[] = [];
  for (const states of texts) {
    const [text] = await compute(device, options, (tape) => [page.condition(states.on(tape))]);
    words.push(scope.hold(text!));
  }
  const guidance = config.distilledGuidance
    ? scope.hold(device.tensor('step', 'guidance', [1, 1], Float32Array.of(GUIDANCE_SCALE * scale)))
    : null;
  const scalars = scope.use(createScalars(device, 'scalars of a step', 2));
  const flag = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  const time = scope.hold(allocateTensor(device, 'time step', [1, 1]));
  const recording = await recordTape(
    device,
    options,
    (tape) => {
      const { text, image, both } = turns;
      const sequences = [latents, ...references].map((one) => patchify(one.on(tape), PATCHES));
      const patches = sequences.reduce((joined, next) => joinTokens(joined, next)); // [1, tokens, channels]
      const predictions = words.map((states) =>
        page.forward({
          patches,
          time: time.on(tape),
          guidance: guidance && guidance.on(tape),
          text: states.on(tape),
          rotations: { text: text.on(tape), image: image.on(tape), both: both.on(tape) },
          denoised: height * width,
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

/** Rotations of the text, of the patches of all images, and of both one after the other. */
function uploadRotations({ components, config, texts, latents, references }: PredictorRequest, scope: Scope) {
  const grids = [latents, ...references].map(({ shape }, image) => {
    const [, rows, columns] = shape as [number, number, number];
    return flux2Rotations(config, { image, rows, columns });
  });
  const text = flux2TextRotations(config, texts[0]!.shape[1] as number);
  const table = (label: string, ...parts: Float32Array[]): Tensor => {
    const values = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
    parts.reduce((at, part) => (values.set(part, at), at + part.length), 0);
    const shape = [values.length / config.dims, config.dims];
    return scope.hold(components.device.tensor('step', label, shape, values));
  };
  return {
    text: table('rotations of a text', text),
    image: table('rotations of images', ...grids),
    both: table('rotations of both', text, ...grids),
  };
}
