// The model of LTX-Video: T5 encodes the prompt, a transformer denoises the latents of all frames, and the decoder of some versions removes the
// last noise. The image of a first frame takes the place of its latents, whose tokens have the time 0.

import { badRequest } from '../../../../files/error.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { addRows } from '../../../../kernels/add-rows.ts';
import { copyInto } from '../../../../kernels/copy-rows.ts';
import { reshape } from '../../../../kernels/reshape.ts';
import { readLTXConfig, type LTXConfig } from '../../../../models/image/clips/ltx-config.ts';
import { ltxRotations, type LTXPlaces } from '../../../../models/image/clips/ltx-rope.ts';
import { ltx, type LTX } from '../../../../models/image/clips/ltx.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import type { FamilyModel } from '../../blocks/family.ts';
import { behindFirst } from '../../blocks/first-frame.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';
import {
  combineGuided,
  conditionOnce,
  guidedScalars,
  openTransformer,
  promptsOf,
  requireWidth,
  uploadRotations,
  type RecordedStep,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { allocateTensor } from '../../recording/compute.ts';
import type { Scope } from '../../recording/scope.ts';
import { TEACACHE } from '../../step-cache/teacache.ts';
import { writeRows, type DrawNormals } from '../../recording/stepper.ts';
import type { Step } from '../../schedules/schedule.ts';

const T5 = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
/** Default scale of the noise that is added to the image of a first frame. */
const IMAGE_NOISE = 0.15;
const TRAINED_STEPS = 1000;

export interface LTXArguments extends CallArguments {
  /** The time step that the decoder is told; left out: 0. */
  decodeTime?: number;
  /** Share of noise that is mixed into latents for the decoder; left out: decodeTime. */
  decodeNoise?: number;
  /** Scale of the noise that is added to latents of a first frame in each step, times the square of what is left of all noise. */
  imageNoise?: number;
}

/** `takesConditions`: as LTXConditionPipeline draws. Each class has a limit of its own on the tokens of a prompt. */
export function openLTX(
  components: ComponentAccess,
  { takesConditions }: { takesConditions: boolean },
): FamilyModel {
  const config = readLTXConfig(components.get('transformer').config, 'transformer/config.json');
  const { factor, framesPerLatent = 1, removesNoise = false } = readAutoencoder(components.get('vae'));
  // The earlier class lets T5 see padding, of which the transformer sees nothing.
  const [most, padding] = takesConditions ? ([256, 'none'] as const) : ([128, 'seen'] as const);
  return openTransformer<LTX>(components, {
    page: (table) => ltx(config, table),
    latentChannels: config.channels,
    frameImages: { first: 'may', last: 'never', encoded: 'sample', samplesLast: takesConditions },
    ...(removesNoise && { leftNoise }),
    guides: (guidance) => guidance > 1,
    ranks: { tokens: { heads: config.heads, isWhole: true } },
    teacache: () => TEACACHE.ltx,
    checkRequest({ call, hasImage }) {
      if (!removesNoise) refuseDecoding(call);
      if (!hasImage) refuseImageNoise(call);
    },
    async checkTexts() {
      requireWidth('caption_channels', config.textDims, 'text_encoder', await checkT5(components, T5));
    },
    encode(request, guided) {
      const { maxSequenceLength: count = most, options } = request;
      return readT5(components, T5, promptsOf(request, guided), { count, padding, options });
    },
    step(given, scope) {
      const { values, call } = given.request;
      const { imageNoise = IMAGE_NOISE }: LTXArguments = call;
      const places = { fps: values.fps!, framesPerLatent, factor, isCausal: takesConditions };
      return recordStep(given, { config, places, imageNoise: takesConditions ? imageNoise : 0 }, scope);
    },
  });
}

function leftNoise({ decodeTime: time = 0, decodeNoise: share = time }: LTXArguments) {
  return { time, share };
}

/** Throws bad_request for arguments that a decoder does not read. */
function refuseDecoding({ decodeTime = 0, decodeNoise = 0 }: LTXArguments): void {
  const name = decodeTime !== 0 ? 'decode_timestep' : decodeNoise !== 0 ? 'decode_noise_scale' : null;
  if (name === null) return;
  throw badRequest(
    `the call argument ${name} is for models whose decoder removes noise, such as LTX-Video 0.9.5, and this one's does not: leave it out`,
    'kwargs',
  );
}

/** Throws bad_request for noise of an image that is not given. */
function refuseImageNoise({ imageNoise }: LTXArguments): void {
  if (imageNoise === undefined) return;
  throw badRequest(
    'the call argument image_cond_noise_scale is for clips that are drawn from the image of their first frame, and none is given: leave it out, or give an image',
    'kwargs',
  );
}

interface LTXFacts {
  config: LTXConfig;
  places: LTXPlaces;
  imageNoise: number;
}

async function recordStep(
  given: TransformerRequest<LTX>,
  { config: { hidden }, places, imageNoise }: LTXFacts,
  scope: Scope,
): Promise<RecordedStep> {
  const { device, page, latents, images, request } = given;
  const { guidance, guidanceRescale } = request.values;
  const [all, rows, columns] = latents.shape as [number, number, number];
  const frames = all / images;
  const turns = ltxRotations({ hidden }, { frames, rows, columns }, places);
  const rotations = uploadRotations(device, scope, { label: 'rotations of a clip', dims: hidden }, turns);
  const first = firstFrameOf(given, imageNoise, scope);
  const texts: Tensor[] = [];
  for (const { states } of given.texts)
    texts.push(await conditionOnce(given, scope, (tape) => page.condition(states.on(tape))));
  return {
    ...(first && { firstFrame: first.latents, refresh: first.refresh, items: frames }),
    record(tape, inputs) {
      const x = first ? behindFirst(first.on(tape), latents.on(tape)) : latents.on(tape);
      const predictions = texts.map((text) =>
        page.forward({
          latents: x,
          time: inputs.time,
          text: text.on(tape),
          rotations: rotations.on(tape),
        }),
      );
      return combineGuided(predictions, inputs, { share: guidanceRescale, images });
    },
    values: ({ timestep }) => ({
      // A first frame that is given is not noised.
      time: first ? new Float32Array(frames).fill(timestep, 1) : timestep,
      scalars: guidedScalars(guidance),
    }),
  };
}

interface FirstFrame {
  /** As the last step has seen them. */
  latents: Tensor;
  on(tape: Tape): Tensor;
  refresh(step: Step, normals: DrawNormals): void;
}

/** Latents of the image of the first frame, to which each step adds fresh noise; null: no image is given. `scope` owns them. */
function firstFrameOf(
  { device, latents, extra: clean }: TransformerRequest<LTX>,
  imageNoise: number,
  scope: Scope,
): FirstFrame | null {
  if (!clean) return null;
  if (imageNoise === 0) return { latents: clean, on: (tape) => clean.on(tape), refresh: () => {} };
  const shape = clean.shape as [number, number, number, number];
  const [, height, width, channels] = shape;
  const [count, flat] = [height * width * channels, [1, height * width, channels]];
  const tensor = (label: string): Tensor => scope.hold(allocateTensor(device, label, shape));
  const [fresh, seen] = [tensor('noise of the first frame'), tensor('first frame with noise')];
  return {
    latents: seen,
    on(tape) {
      const noised = addRows(reshape(clean.on(tape), flat), reshape(fresh.on(tape), flat));
      const into = seen.on(tape);
      copyInto(noised, into);
      return into;
    },
    refresh({ timestep }, normals) {
      // diffusers draws for all tokens, whose channels stand side by side.
      const noise = normals(count * (latents.shape[0] as number)).subarray(0, count);
      const scale = imageNoise * (timestep / TRAINED_STEPS) ** 2;
      const scaled = noise.map((value) => scale * value);
      writeRows(device, fresh, scaled);
    },
  };
}
