// The model of LTX-Video: T5 encodes the prompt, a transformer denoises the latents of all frames, and the decoder of some versions removes the
// last noise. The image of a first frame takes the place of its latents, whose tokens have the time 0.

import { badRequest } from '../../../../files/error.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { readLTXConfig, type LTXConfig } from '../../../../models/image/ltx-config.ts';
import { ltxRotations, type LTXScales } from '../../../../models/image/ltx-rope.ts';
import { ltx, type LTX } from '../../../../models/image/ltx.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import type { FamilyModel, RunRequest } from '../../blocks/family.ts';
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
import type { Scope } from '../../recording/scope.ts';

const T5 = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
/** Default limit on the tokens of a prompt that are read. */
const TOKENS = 128;

export interface LTXArguments extends CallArguments {
  /** The time step that the decoder is told; left out: 0. */
  decodeTime?: number;
  /** Share of noise that is mixed into latents for the decoder; left out: decodeTime. */
  decodeNoise?: number;
}

export function openLTX(components: ComponentAccess): FamilyModel {
  const config = readLTXConfig(components.get('transformer').config, 'transformer/config.json');
  const { factor, framesPerLatent = 1, isTimed = false } = readAutoencoder(components.get('vae'));
  const scalesOf = ({ fps }: RunRequest['values']): LTXScales => [framesPerLatent / fps!, factor, factor];
  return openTransformer<LTX>(components, {
    page: (table) => ltx(config, table),
    latentChannels: config.channels,
    frameImages: { first: 'may', last: 'never', encoded: 'sample' },
    ...(isTimed && { leftNoise }),
    guides: (guidance) => guidance > 1,
    checkRequest: ({ call }) => void (isTimed || refuseDecoding(call)),
    async checkTexts() {
      requireWidth('caption_channels', config.textDims, 'text_encoder', await checkT5(components, T5));
    },
    encode(request, guided) {
      const { maxSequenceLength: count = TOKENS, options } = request;
      return readT5(components, T5, promptsOf(request, guided), { count, padding: 'seen', options });
    },
    step: (given, scope) => recordStep(given, config, scalesOf(given.request.values), scope),
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

async function recordStep(
  given: TransformerRequest<LTX>,
  { hidden }: LTXConfig,
  scales: LTXScales,
  scope: Scope,
): Promise<RecordedStep> {
  const { device, page, latents, request, extra: firstFrame } = given;
  const { guidance, guidanceRescale } = request.values;
  const [frames, rows, columns] = latents.shape as [number, number, number];
  const places = { label: 'rotations of a clip', dims: hidden };
  const turns = ltxRotations({ hidden }, { frames, rows, columns }, scales);
  const rotations = uploadRotations(device, scope, places, turns);
  const texts: Tensor[] = [];
  for (const { states } of given.texts)
    texts.push(await conditionOnce(given, scope, (tape) => page.condition(states.on(tape))));
  const input = (tape: Tape): Tensor =>
    firstFrame ? behindFirst(tape, firstFrame, latents) : latents.on(tape);
  return {
    ...(firstFrame && { firstFrame, items: frames }),
    record(tape, inputs) {
      const x = input(tape);
      const predictions = texts.map((text) =>
        page.forward({
          latents: x,
          time: inputs.time,
          text: text.on(tape),
          rotations: rotations.on(tape),
        }),
      );
      return combineGuided(predictions, inputs, guidanceRescale);
    },
    values: ({ timestep }) => ({
      // A first frame that is given is not noised.
      time: firstFrame ? new Float32Array(frames).fill(timestep, 1) : timestep,
      scalars: guidedScalars(guidance),
    }),
  };
}
