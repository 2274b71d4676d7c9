// The model of Z-Image: a transformer over image tokens and caption tokens.

import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { limitLength } from '../../../../kernels/guidance.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import { readZImageConfig, type ZImageConfig } from '../../../../models/image/z-image-config.ts';
import { checkZImageSize, longestCaption, zImageRotations } from '../../../../models/image/z-image-rope.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { zImage, type ZImage } from '../../../../models/image/z-image.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { compute } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { FamilyModel, Prepared } from '../../blocks/family.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import {
  combineGuided,
  prepareTransformer,
  recordPredictor,
  TRANSFORMER,
  uploadRotations,
  type StepInputs,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import { checkEncoder, encodeCaptions, openTemplate } from './z-image-captions.ts';

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
  const config = readZImageConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => zImage(config, table);
  const { factor } = readAutoencoder(components.get('vae'));

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    guides,
    checkRequest(request) {
      checkLength(request, longestCaption(config));
      const [rows, columns] = [request.values.height, request.values.width].map(
        (side) => side / factor / PATCH,
      );
      checkZImageSize(config, rows!, columns!);
    },
    async checkFiles() {
      await openTemplate(components);
      checkEncoder(components);
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const captions = await encodeCaptions(components, texts, request);
      return prepareTransformer(components, page, request, {
        tensors: captions,
        tokens: captions[0]!.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, captions }),
      });
    },
  };
}

interface PredictorRequest extends TransformerRequest<ZImage> {
  config: ZImageConfig;
  captions: readonly Tensor[];
}

/** Each caption has a pass of its own, because captions differ in length. */
async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, captions, request, latents } = given;
  const { device } = components;
  using scope = new Scope(device);
  const { guidance } = request.values;
  const { cfgNormalization = 0, cfgTruncation = 1 }: ZImageArguments = request.call;
  const sides: Side[] = [];
  for (const caption of captions) sides.push(await prepareSide(given, caption, scope));
  const isCut = sides.length > 1 && cfgTruncation < 1;
  const predicted = (tape: Tape, { time }: StepInputs, { caption, image, joint }: Side): Tensor =>
    page.forward(latents.on(tape), time, caption.on(tape), { image: image.on(tape), joint: joint.on(tape) });
  // The model predicts the direction from noise to the image; schedules expect the opposite direction.
  const turned = (x: Tensor, { scalars }: StepInputs): Tensor => repeat(x, 1, scalars, 0);
  return await recordPredictor(device, scope, given, {
    record(tape, inputs) {
      const predictions = sides.map((side) => predicted(tape, inputs, side));
      const [positive] = predictions as [Tensor];
      if (predictions.length === 1) return turned(positive, inputs);
      const guided = combineGuided(predictions, inputs);
      if (cfgNormalization > 0) limitLength(guided, positive, cfgNormalization);
      return guided;
    },
    ...(isCut && { recordOther: (tape, inputs) => turned(predicted(tape, inputs, sides[0]!), inputs) }),
    values({ timestep }) {
      const share = 1 - timestep / TRAINED_STEPS;
      const unguided = sides.length === 1 || (isCut && share > cfgTruncation);
      const scalars = unguided ? [-1] : [-(1 + guidance), guidance];
      return { time: share * config.timeScale, scalars, isOther: unguided };
    },
  });
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
  const upload = (label: string, values: Float32Array): Tensor =>
    uploadRotations(device, scope, { label, dims: config.dims }, values);
  const rotations = upload('rotations of a caption', turns.caption);
  const [caption] = await compute(device, options, (tape) => [
    page.condition(states.on(tape), rotations.on(tape)),
  ]);
  return {
    caption: scope.hold(caption!),
    image: upload('rotations of an image', turns.image),
    joint: upload('rotations of both', turns.joint),
  };
}
