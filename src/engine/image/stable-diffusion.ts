// Stable Diffusion 1.x, 2.x and XL: CLIP states to a UNet.

import { EngineError } from '../../files/error.ts';
import { readUNetConfig, type UNetConfig } from '../../models/image/unet-config.ts';
import { unet } from '../../models/image/unet.ts';
import { readClipConfig } from '../../models/text/clip-config.ts';
import type { WeightTable } from '../../models/weights.ts';
import { checkEncoders, encodeClip, type ClipText } from './clip-text.ts';
import { freeTensors } from './compute.ts';
import type { Components } from './components.ts';
import { sampleSizeOf } from './outdated.ts';
import type { Runner, RunRequest } from './runner.ts';
import { unetPredictor } from './unet-denoiser.ts';

/** What SDXL's refiner is told of beauty where nothing is said. */
const AESTHETIC_SCORES = { wanted: 6, unwanted: 2.5 };
const REFINER_IDS = 5;
const NO_CROP = [0, 0];

export function stableDiffusion(
  components: Components,
  xl: boolean,
  settings: Readonly<Record<string, unknown>>,
): Runner {
  const { device } = components;
  const { config: json } = components.get('unet');
  const config = readUNetConfig(json, 'unet/config.json');
  const page = (table: WeightTable) => unet(config, table);
  const encoder = components.has('text_encoder') ? 'text_encoder' : 'text_encoder_2';
  const { className, config: textJson } = components.get(encoder);
  const { layers } = readClipConfig(textJson, className, `${encoder}/config.json`);
  const guides = (guidance: number): boolean => guidance > 1 && config.guidanceDims === null;
  const zerosNegative = xl && settings['force_zeros_for_empty_prompt'] !== false;

  return {
    latentChannels: config.outChannels,
    fillsMasks: fillsMasks(config),
    sampleSize: xl ? config.sampleSize : sampleSizeOf(json, config.sampleSize),
    mostClipSkip: layers - (xl ? 2 : 1),
    zerosNegative,
    guides,
    flow: null,
    async checkFiles() {
      checkContext(config, await checkEncoders(components));
      components.check('unet', page);
    },
    async prepare(request: RunRequest) {
      const { values, sources, prompt, call, options } = request;
      const text = await encodeClip(components, xl, {
        prompt,
        negative: guides(values.guidance) ? values.negativePrompt : null,
        prompt2: call.prompt2,
        negative2: call.negativePrompt2,
        clipSkip: values.clipSkip,
        zeroNegative: zerosNegative && sources.negativePrompt === 'contract',
        options,
      });
      return {
        tokens: text.tokens,
        use: (body) =>
          components.use('unet', 'denoiser', page, (forward) =>
            body((latents, output, extra, options) =>
              unetPredictor(
                device,
                config,
                forward,
                {
                  text,
                  guidance: values.guidance,
                  guidanceRescale: values.guidanceRescale,
                  sizeIds: sizeIds(config, text, request),
                  extra,
                  latents,
                  output,
                },
                options,
              ),
            ),
          ),
        free: () => freeTensors(device, [text.states, text.pooled]),
      };
    },
  };
}

/** Throws where the text is not as wide as what the UNet looks at: one of them stands for another model's. */
function checkContext({ down }: UNetConfig, columns: number): void {
  const wanted = down.flatMap(({ attention }) => (attention ? [attention.context] : []));
  const other = wanted.find((context) => context !== columns);
  if (other === undefined) return;
  throw new EngineError(
    'bad_checkpoint',
    `the text encoder gives ${columns} columns, and the unet takes ${other}: give the one that it was trained with`,
    { param: 'text_encoder/config.json' },
  );
}

/** UNets take latents, or latents, a mask and masked latents. */
function fillsMasks({ inChannels, outChannels }: UNetConfig): boolean {
  const withMask = 2 * outChannels + 1;
  if (inChannels === outChannels || inChannels === withMask) return inChannels === withMask;
  throw new EngineError(
    'unsupported',
    `unet/config.json: in_channels ${inChannels} is not built; choose a checkpoint that has ${outChannels}, or ${withMask} for inpainting`,
  );
}

/** Sizes in pixels as SDXL was told them in training, a row for each text. */
function sizeIds(
  config: UNetConfig,
  { states, pooled }: ClipText,
  { values, call }: RunRequest,
): number[][] | null {
  if (!config.added || !pooled) return null;
  const size = [values.height, values.width];
  const { originalSize = size, cropsTopLeft = NO_CROP, targetSize = size } = call;
  const { negativeOriginalSize, negativeTargetSize } = call;
  const sides = states.shape[0] as number;
  const refiner = (config.added.columns - pooled.columns) / config.added.idDims === REFINER_IDS;
  // As in diffusers: sizes of its own bring a crop of its own, and what starts from an image has the prompt's.
  const own = refiner || (values.strength === null && negativeOriginalSize && negativeTargetSize);
  const { negativeCropsTopLeft = own ? NO_CROP : cropsTopLeft } = call;
  const { wanted, unwanted } = AESTHETIC_SCORES;
  return [
    [
      ...(negativeOriginalSize ?? originalSize),
      ...negativeCropsTopLeft,
      ...(refiner ? [call.negativeAestheticScore ?? unwanted] : (negativeTargetSize ?? targetSize)),
    ],
    [...originalSize, ...cropsTopLeft, ...(refiner ? [call.aestheticScore ?? wanted] : targetSize)],
  ].slice(2 - sides);
}
