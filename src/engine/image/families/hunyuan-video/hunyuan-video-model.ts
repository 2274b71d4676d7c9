// The model of HunyuanVideo 1.5: Qwen2.5-VL's language model reads the prompt, ByT5 what is quoted in it, and a transformer denoises the latents of
// all frames. The image of a first frame enters as states of SigLIP, and its latents in further channels.

import { unsupported } from '../../../../files/error.ts';
import type { Pipeline } from '../../../../files/pipeline/pipeline-index.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { takeRows } from '../../../../kernels/copy-rows.ts';
import { readHunyuanConfig, type HunyuanConfig } from '../../../../models/image/clips/hunyuan-config.ts';
import { hunyuan, type Hunyuan } from '../../../../models/image/clips/hunyuan.ts';
import { clipPlaces } from '../../../../models/image/clips/wan-rope.ts';
import { rotationsAt } from '../../../../models/image/flux-rope.ts';
import type { FamilyModel } from '../../blocks/family.ts';
import { behindFirst } from '../../blocks/first-frame.ts';
import {
  combineGuided,
  conditionOnce,
  guidedScalars,
  openTransformer,
  uploadRotations,
  type RecordedStep,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Scope } from '../../recording/scope.ts';
import { readConfig } from '../../../../models/config-values.ts';
import { HunyuanImageEncoder } from './hunyuan-video-image.ts';
import { checkHunyuanTexts, MOST_TOKENS, readHunyuanTexts } from './hunyuan-video-texts.ts';

/** Settings of a guider that would change the computation. */
const GUIDER = {
  guidance_rescale: [0],
  use_original_formulation: [false],
  start: [0],
  stop: [1],
  enabled: [true],
};

const TRAINED_STEPS = 1000;
const FROM_IMAGE = 'HunyuanVideo15ImageToVideoPipeline';

export function openHunyuanVideo(
  components: ComponentAccess,
  { className }: Pick<Pipeline, 'className'>,
): FamilyModel {
  const config = readHunyuanConfig(components.get('transformer').config, 'transformer/config.json');
  readConfig('guider/guider_config.json', components.get('guider').config).only(GUIDER);
  checkInputs(config);
  const encoder = className === FROM_IMAGE ? new HunyuanImageEncoder(components) : null;
  return openTransformer<Hunyuan>(components, {
    page: (table) => hunyuan(config, table, { seesImages: encoder !== null }),
    latentChannels: config.channels,
    mostTokens: MOST_TOKENS,
    ...(encoder && {
      frameImages: { first: 'must', last: 'never', encoded: 'image' },
      before: (request) => encoder.read(request),
    }),
    guides: (guidance) => guidance !== 1,
    ranks: { tokens: { heads: config.heads } },
    batches: () => 'HunyuanVideo 1.5 draws one clip at a time',
    async checkTexts() {
      await checkHunyuanTexts(components, config);
      encoder?.check(config);
    },
    encode: (request, guided) => readHunyuanTexts(components, request, guided),
    step: (given, scope) =>
      recordStep(given, { ...config, seesNext: encoder !== null && config.seesNext }, scope),
  });
}

/** Throws unsupported unless latents of given frames and a mask stand beside those that are denoised. */
function checkInputs({ inputs, channels }: HunyuanConfig): void {
  const wanted = 2 * channels + 1;
  if (inputs === wanted) return;
  throw unsupported(
    `transformer/config.json: in_channels is ${inputs}, and ${channels} are denoised: models with ${wanted} are built, choose one of them`,
    'in_channels',
  );
}

async function recordStep(
  given: TransformerRequest<Hunyuan>,
  config: HunyuanConfig,
  scope: Scope,
): Promise<RecordedStep> {
  const { device, page, latents, request } = given;
  const [frames, rows, columns] = latents.shape as [number, number, number];
  const turns = rotationsAt(clipPlaces({ frames, rows, columns }), config.axes, config.theta);
  const places = { label: 'rotations of a clip', dims: config.dims };
  const rotations = uploadRotations(device, scope, places, turns);
  const extra = await givenFrames(given, config, scope);
  const { before } = given;
  const image = before && (await conditionOnce(given, scope, (tape) => page.conditionImage(before.on(tape))));
  const texts: { states: Tensor; mean: Tensor; glyphs: Tensor | null }[] = [];
  for (const { states, pooled: mean, further } of given.texts) {
    const glyphs = further
      ? await conditionOnce(given, scope, (tape) => page.conditionGlyphs(further.on(tape)))
      : null;
    texts.push({ states, mean: mean!, glyphs });
  }
  const { seesNext } = config;
  return {
    ...(seesNext && { items: 2 }), // the time of a step, and the one that it leads to
    record(tape, inputs) {
      const [time, next] = [0, 1].map((i) => (seesNext ? takeRows(inputs.time, i, [1]) : null));
      const x = concat(latents.on(tape), extra.on(tape));
      const predictions = texts.map(({ states, mean, glyphs }) =>
        page.forward({
          latents: x,
          time: time ?? inputs.time,
          next: next ?? null,
          text: states.on(tape),
          mean: mean.on(tape),
          glyphs: glyphs && glyphs.on(tape),
          image: image && image.on(tape),
          rotations: rotations.on(tape),
        }),
      );
      return combineGuided(predictions, inputs);
    },
    values: ({ timestep, after }) => ({
      time: seesNext ? Float32Array.of(timestep, TRAINED_STEPS * after.noise) : timestep,
      scalars: guidedScalars(request.values.guidance),
    }),
  };
}

/** Latents of given frames, behind them 1 where a frame is given; zeros for all others. `scope` owns them. */
async function givenFrames(
  given: TransformerRequest<Hunyuan>,
  { inputs, channels }: HunyuanConfig,
  scope: Scope,
): Promise<Tensor> {
  const { device, latents, references } = given;
  const [frames, height, width] = latents.shape as [number, number, number];
  const shape = [frames, height, width, inputs - channels];
  const nothing = new Float32Array(shape.reduce((product, extent) => product * extent, 1));
  const zeros = scope.hold(device.tensor('step', 'frames that are not given', shape, nothing));
  const [encoded] = references;
  if (!encoded) return zeros;
  const ones = new Float32Array(height * width).fill(1);
  const mask = scope.hold(device.tensor('step', 'a given frame', [1, height, width, 1], ones));
  const first = (tape: Tape): Tensor => concat(encoded.on(tape), mask.on(tape));
  return conditionOnce(given, scope, (tape) => behindFirst(first(tape), zeros.on(tape)));
}
