// The model of Z-Image: a transformer over image tokens and caption tokens.

import type { Tensor } from '../../../gpu/tensor.ts';
import { limitLength } from '../../../kernels/guidance.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { repeat } from '../../../kernels/repeat.ts';
import { readZImageConfig, type ZImageConfig } from '../../../models/image/z-image-config.ts';
import { zImageRotations } from '../../../models/image/z-image-rope.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { zImage, type ZImage } from '../../../models/image/z-image.ts';
import { allocateTensor, compute, freeTensors, recordTape, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { writeRows, type Predictor } from '../denoiser.ts';
import { Scope } from '../scope.ts';
import type { CallArguments } from '../call-arguments.ts';
import type { FamilyModel, Prepared, RunRequest } from './family.ts';
import { checkEncoder, encodeCaptions, openTemplate } from './z-image-captions.ts';
import { createScalars } from '../scalars.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
const TRAINED_STEPS = 1000;

const guides = (guidance: number): boolean => guidance > 0;

export interface ZImageArguments extends CallArguments {
  /** Limit on the length of the guided prediction, as a multiple of the conditional one's; 0: no limit. */
  cfgNormalization?: number;
  /** Guidance stops when the denoised share exceeds this value; above 1: never. */
  cfgTruncation?: number;
}

export function openZImage(components: ComponentAccess): FamilyModel {
  const { device } = components;
  const config = readZImageConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => zImage(config, table);

  return {
    latentChannels: config.channels,
    fillsMasks: false,
    sampleSize: null,
    mostClipSkip: 0,
    unreadClipLayers: 0,
    guides,
    async checkFiles() {
      await openTemplate(components);
      checkEncoder(components);
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const captions = await encodeCaptions(components, texts, request);
      return {
        tokens: captions[0]!.shape[1] as number,
        async load() {
          const weights = await components.load('transformer', 'denoiser', page, request.options);
          const given = { components, config, page: weights.page, captions, request };
          return {
            record: (latents, output, _, options) => zImagePredictor({ ...given, latents, output, options }),
            [Symbol.dispose]: () => weights[Symbol.dispose](),
          };
        },
        [Symbol.dispose]: () => freeTensors(device, captions),
      };
    },
  };
}

interface PredictorRequest {
  components: ComponentAccess;
  config: ZImageConfig;
  page: ZImage;
  captions: readonly Tensor[];
  request: RunRequest;
  latents: Tensor;
  output: Tensor;
  options: ComputeOptions;
}

/** Each caption has a pass of its own, because captions differ in length. */
async function zImagePredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, captions, request, latents, output, options } = given;
  const { device } = components;
  using scope = new Scope(device);
  const { guidance } = request.values;
  const { cfgNormalization = 0, cfgTruncation = 1 }: ZImageArguments = request.call;
  const sides: Side[] = [];
  for (const caption of captions) sides.push(await prepareSide(given, caption, scope));
  const scalars = scope.use(createScalars(device, 'scalars of a step', 2));
  const flag = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  const time = scope.hold(allocateTensor(device, 'time step', [1, 1]));
  const recording = await recordTape(
    device,
    options,
    (tape) => {
      const predictions = sides.map(({ caption, image, joint }) =>
        page.forward(latents.on(tape), time.on(tape), caption.on(tape), {
          image: image.on(tape),
          joint: joint.on(tape),
        }),
      );
      const [positive] = predictions as [Tensor];
      // The model predicts the direction from noise to the image; schedules expect the opposite direction.
      if (predictions.length === 1) return [repeat(positive, 1, scalars.region, 0)];
      const guided = linearCombination(predictions, scalars.region, flag.region!);
      if (cfgNormalization > 0) limitLength(guided, positive, cfgNormalization);
      return [guided];
    },
    [output],
  );
  scope.use(recording);
  const owner = scope.move();
  return {
    run({ timestep }) {
      const share = 1 - timestep / TRAINED_STEPS;
      const scale = cfgTruncation <= 1 && share > cfgTruncation ? 0 : guidance;
      scalars.write(sides.length === 1 ? [-1] : [-(1 + scale), scale]);
      writeRows(device, time, Float32Array.of(share * config.timeScale));
      recording.run();
    },
    times: () => recording.times(),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
}

interface Side {
  /** [1, padded tokens, hidden] */
  caption: Tensor;
  image: Tensor;
  joint: Tensor;
}

async function prepareSide(
  { components, config, page, latents, options }: PredictorRequest,
  states: Tensor,
  scope: Scope,
): Promise<Side> {
  const { device } = components;
  const [, height, width] = latents.shape as number[];
  const tokens = states.shape[1] as number;
  const turns = zImageRotations(config, tokens, height! / PATCH, width! / PATCH);
  const table = (label: string, values: Float32Array): Tensor =>
    scope.hold(device.tensor('step', label, [values.length / config.dims, config.dims], values));
  const rotations = table('rotations of a caption', turns.caption);
  const [caption] = await compute(device, options, (tape) => [
    page.condition(states.on(tape), rotations.on(tape)),
  ]);
  return {
    caption: scope.hold(caption!),
    image: table('rotations of an image', turns.image),
    joint: table('rotations of both', turns.joint),
  };
}
