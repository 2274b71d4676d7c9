// Stable Diffusion 1.x, 2.x and XL: CLIP states to a UNet.

import { EngineError } from '../../files/error.ts';
import { readUNetConfig, type UNetConfig } from '../../models/unet-config.ts';
import { unet } from '../../models/unet.ts';
import { readClipConfig } from '../../models/clip-config.ts';
import { encodeClip, type ClipText } from './clip-text.ts';
import { freeTensors } from './compute.ts';
import type { Components } from './components.ts';
import type { Runner, RunRequest } from './runner.ts';
import { unetPredictor } from './unet-denoiser.ts';

/** What SDXL's refiner is told of beauty, of what is not wanted and of the prompt. */
const AESTHETIC_SCORES = [2.5, 6];
const REFINER_IDS = 5;

export function stableDiffusion(
  components: Components,
  xl: boolean,
  settings: Readonly<Record<string, unknown>>,
): Runner {
  const { device } = components;
  const { config: json } = components.get('unet');
  const config = readUNetConfig(json, 'unet/config.json');
  const encoder = components.has('text_encoder') ? 'text_encoder' : 'text_encoder_2';
  const { className, config: textJson } = components.get(encoder);
  const { layers } = readClipConfig(textJson, className, `${encoder}/config.json`);
  const guided = ({ guidance }: { guidance: number }): boolean =>
    guidance > 1 && config.guidanceDims === null;

  return {
    latentChannels: config.outChannels,
    fillsMasks: fillsMasks(config),
    sampleSize: config.sampleSize,
    mostClipSkip: layers - (xl ? 2 : 1),
    flow: null,
    async prepare(request: RunRequest) {
      const { values, sources, prompt, options } = request;
      const text = await encodeClip(components, xl, {
        prompt,
        negative: guided(values) ? values.negativePrompt : null,
        clipSkip: values.clipSkip,
        zeroNegative:
          xl && settings['force_zeros_for_empty_prompt'] !== false && sources.negativePrompt === 'contract',
        options,
      });
      return {
        use: (body) =>
          components.use(
            'unet',
            'denoiser',
            (table) => unet(config, table),
            (page) =>
              body((latents, output, extra, options) =>
                unetPredictor(
                  device,
                  config,
                  page,
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
  const { width, height } = values;
  const [originalHeight, originalWidth] = call.originalSize ?? [height, width];
  const [top, left] = call.cropsTopLeft ?? [0, 0];
  const [targetHeight, targetWidth] = call.targetSize ?? [height, width];
  const sides = states.shape[0] as number;
  const refiner = (config.added.columns - pooled.columns) / config.added.idDims === REFINER_IDS;
  return AESTHETIC_SCORES.slice(2 - sides).map((score) => [
    originalHeight,
    originalWidth,
    top,
    left,
    ...(refiner ? [score] : [targetHeight, targetWidth]),
  ]);
}
