// The model of FLUX.2: a transformer over the tokens of a text and the latents of images, each of which is a token.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { joinTokens } from '../../../../kernels/copy-rows.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { flux2, type Flux2 } from '../../../../models/image/flux2.ts';
import { readFlux2Config, type Flux2Config } from '../../../../models/image/flux2-config.ts';
import { flux2Rotations, flux2TextRotations } from '../../../../models/image/flux2-rope.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { compute } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared } from '../../blocks/family.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import type { Flux2Texts } from './flux2-texts.ts';
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
  const config = readFlux2Config(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => flux2(config, table);
  const guides = (guidance: number): boolean => guided && guidance > 1;

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    guides,
    ignoresGuidance: !guided && !config.distilledGuidance,
    checkRequest(request) {
      checkLength(request);
      encoder.checkLayers(request.call, config.textDims);
    },
    async checkFiles() {
      requireWidth('joint_attention_dim', config.textDims, 'text_encoder', await encoder.check());
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const { prompt, values } = request;
      const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
      const states = await encoder.encode(texts, request);
      return prepareTransformer(components, page, request, {
        tensors: states,
        tokens: states[0]!.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, texts: states }),
      });
    },
  };
}

interface PredictorRequest extends TransformerRequest<Flux2> {
  config: Flux2Config;
  /** States of the prompt and, under guidance, of the negative prompt; of equally many tokens. */
  texts: readonly Tensor[];
}

async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, references, request, latents, options } = given;
  const { device } = components;
  const { guidance: scale } = request.values;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const turns = rotationsOf(given, scope);
  const words: Tensor[] = [];
  for (const states of texts) {
    const [text] = await compute(device, options, (tape) => [page.condition(states.on(tape))]);
    words.push(scope.hold(text!));
  }
  const guidance = config.distilledGuidance
    ? scope.hold(device.tensor('step', 'guidance', [1, 1], Float32Array.of(GUIDANCE_SCALE * scale)))
    : null;
  return await recordPredictor(device, scope, given, {
    record(tape, inputs) {
      const { text, image, both } = turns;
      const sequences = [latents, ...references].map((one) => patchify(one.on(tape), PATCHES));
      const patches = sequences.reduce((joined, next) => joinTokens(joined, next)); // [1, tokens, channels]
      const predictions = words.map((states) =>
        page.forward({
          patches,
          time: inputs.time,
          guidance: guidance && guidance.on(tape),
          text: states.on(tape),
          rotations: { text: text.on(tape), image: image.on(tape), both: both.on(tape) },
          denoised: height * width,
        }),
      );
      return unpatchify(combineGuided(predictions, inputs), { ...PATCHES, height, width });
    },
    values: ({ timestep }) => ({ time: timestep, scalars: guidedScalars(scale) }),
  });
}

/** Rotations of the text, of the patches of all images, and of both one after the other. */
function rotationsOf({ components, config, texts, latents, references }: PredictorRequest, scope: Scope) {
  const grids = [latents, ...references].map(({ shape }, image) => {
    const [, rows, columns] = shape as [number, number, number];
    return flux2Rotations(config, { image, rows, columns });
  });
  const text = flux2TextRotations(config, texts[0]!.shape[1] as number);
  const upload = (label: string, ...parts: Float32Array[]): Tensor =>
    uploadRotations(components.device, scope, { label, dims: config.dims }, ...parts);
  return {
    text: upload('rotations of a text', text),
    image: upload('rotations of images', ...grids),
    both: upload('rotations of both', text, ...grids),
  };
}
