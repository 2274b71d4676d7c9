// The settings of a request for images. These bounds apply to every pipeline; each pipeline adds stricter checks.

import { DEFAULTS, LIMITS } from './limits.ts';
import { rowsWith } from './setting.ts';

const SAMPLING = 'Sampling';
const INPUT = 'Starting from an image';
const CONTROL = 'Steering by an image';
const UPSCALING = 'Enlarging results';

export const IMAGE_SAMPLING = rowsWith(
  { in: ['images'] },
  {
    negativePrompt: {
      kind: { type: 'text', isEmpty: true },
      help: 'What not to draw.',
      flag: {
        group: SAMPLING,
        otherwise: "the model's own, or empty",
        elsewhere: ['negative', 'neg-prompt'],
      },
    },
    steps: {
      kind: { type: 'integer', min: 1, max: LIMITS.steps },
      help: 'Denoising steps; more take longer and are usually better.',
      default: DEFAULTS.steps,
      isOfModel: true,
      field: 'num_inference_steps',
      flag: {
        name: 'num-inference-steps',
        group: SAMPLING,
        otherwise: `${DEFAULTS.steps}, or the model's own`,
        elsewhere: ['steps', 'sampling-steps', 'sample-steps', 'ddim-steps', 'num-steps', 'n-steps'],
      },
    },
    guidance: {
      kind: { type: 'number', min: 0, max: LIMITS.guidance },
      help: 'Classifier-free guidance; higher follows the prompt more closely.',
      default: DEFAULTS.guidance,
      isOfModel: true,
      field: 'guidance_scale',
      flag: {
        name: 'guidance-scale',
        group: SAMPLING,
        otherwise: `${DEFAULTS.guidance}, or the model's own`,
        elsewhere: ['cfg-scale', 'cfg', 'guidance', 'scale', 'true-cfg-scale'],
      },
    },
    height: {
      kind: { type: 'integer', min: 8, max: LIMITS.side },
      help: 'Pixels.',
      flag: { group: SAMPLING, otherwise: "the model's own", elsewhere: ['H'] },
    },
    width: {
      kind: { type: 'integer', min: 8, max: LIMITS.side },
      help: 'Pixels.',
      flag: { group: SAMPLING, otherwise: "the model's own", elsewhere: ['W', 'size', 'resolution'] },
    },
    frames: {
      kind: { type: 'integer', min: 1, max: LIMITS.frames },
      help: 'Frames of a clip, in families that draw clips; images have one.',
      field: 'num_frames',
      flag: {
        name: 'num-frames',
        group: SAMPLING,
        otherwise: "the model's own, or 1",
        elsewhere: ['frames', 'video-frames', 'num-video-frames', 'frame-num'],
      },
    },
    fps: {
      kind: { type: 'number', above: 0, max: LIMITS.frameRate },
      help: 'Frames in a second of a clip, in families that draw clips.',
      flag: {
        group: SAMPLING,
        otherwise: `the model's own, or ${DEFAULTS.frameRate}`,
        elsewhere: ['frame-rate', 'framerate', 'video-fps'],
      },
    },
    samples: {
      kind: { type: 'integer', min: 1, max: LIMITS.samples },
      help: 'Images of each prompt.',
      field: 'n',
      flag: {
        name: 'num-samples',
        group: SAMPLING,
        otherwise: '1',
        aliases: ['num-outputs-per-prompt'],
        elsewhere: ['n', 'b', 'n-iter', 'num-images', 'num-images-per-prompt'],
      },
    },
    /** One of the names in `info.schedulers`. */
    scheduler: {
      kind: { type: 'text' },
      help: 'Noise schedule, as euler-karras, dpm++2m or DDIMScheduler, or as other programs spell it (dpmpp_2m, Euler a); a name that is none lists them.',
      flag: {
        group: SAMPLING,
        value: 'name',
        otherwise: "the model's own",
        elsewhere: ['sampler', 'sampler-name', 'sampling-method', 'sample-method'],
      },
    },
    generatorDevice: {
      kind: { type: 'choice', choices: ['cpu', 'cuda'] },
      help: "Whose random stream makes the noise: torch's generator of the CPU or of CUDA, the same on any GPU.",
      default: 'cpu',
      flag: { group: SAMPLING, otherwise: 'cpu' },
    },
    clipSkip: {
      kind: { type: 'integer', min: 0 },
      help: 'Layers left out at the end of a CLIP text encoder, as diffusers counts: what other programs call clip skip 2 is 1.',
      default: 0,
      flag: { group: SAMPLING, otherwise: '0', elsewhere: ['clip-stop-at-last-layers'] },
    },
    guidanceRescale: {
      kind: { type: 'number', min: 0, max: 1 },
      help: "How far a guided prediction keeps the conditional one's spread.",
      default: 0,
      flag: { group: SAMPLING, otherwise: '0' },
    },
    maxSequenceLength: {
      kind: { type: 'integer', min: 1 },
      help: 'Most tokens of a prompt that are read, in families whose text encoder is a language model.',
      default: 512,
      flag: { group: SAMPLING, otherwise: '512' },
    },
    flowShift: {
      kind: { type: 'number', above: 0 },
      help: 'Shift of the noise schedule, in families of flow models.',
      flag: { group: SAMPLING, otherwise: "the model's own" },
    },
    /** Left out: all LoRAs of `loraPath`, with its scales. */
    lora: {
      kind: { type: 'list', of: { type: 'text' }, most: LIMITS.loras, orOne: true },
      help: 'LoRAs to draw with: names of loaded ones, or of files and folders in --lora-dir; none for an empty list. Left out, all that were given with the model.',
      field: 'lora_path',
      by: 'engine/image/lora/image-loras.ts',
    },
    loraScale: {
      kind: { type: 'list', of: { type: 'number' }, most: LIMITS.loras, orOne: true },
      help: 'How strongly each of lora_path is merged, or one number for all; left out, as given with the model, or 1.',
      by: 'engine/image/lora/image-loras.ts',
    },
    strength: {
      kind: { type: 'number', above: 0, max: 1 },
      help: 'Share of the steps taken from it: higher keeps less.',
      flag: {
        group: INPUT,
        otherwise: '0.8, with a mask 1',
        elsewhere: ['denoise', 'denoising-strength'],
      },
    },
    ipAdapterScale: {
      kind: { type: 'number' },
      help: 'How strongly the image of an IP-Adapter counts beside the text.',
      default: 1,
      flag: { group: CONTROL, otherwise: '1' },
    },
    controlScale: {
      kind: { type: 'list', of: { type: 'number' }, least: 1, orOne: true },
      help: 'How strongly each ControlNet steers, in the order of the networks, or one number for all.',
      field: 'controlnet_conditioning_scale',
      flag: {
        group: CONTROL,
        value: 'x,...',
        otherwise: '1; 0.8 with an image to start from; with a mask 1, and 0.5 in Stable Diffusion 1 and 2',
        elsewhere: ['control-strength', 'controlnet-scale'],
      },
    },
    controlStart: {
      kind: { type: 'list', of: { type: 'number', min: 0, max: 1 }, least: 1, orOne: true },
      help: 'Share of the steps before which each ControlNet has no effect.',
      default: [0],
      field: 'control_guidance_start',
      flag: { group: CONTROL, value: 'x,...', otherwise: '0' },
    },
    controlEnd: {
      kind: { type: 'list', of: { type: 'number', min: 0, max: 1 }, least: 1, orOne: true },
      help: 'Share of the steps after which each ControlNet has no effect.',
      default: [1],
      field: 'control_guidance_end',
      flag: { group: CONTROL, value: 'x,...', otherwise: '1' },
    },
    enableUpscaling: {
      kind: { type: 'boolean' },
      help: 'Enlarge images, and the frames of clips, by the network of --upscaling-model-path once they are decoded.',
      default: false,
      flag: { group: UPSCALING, otherwise: 'false', elsewhere: ['upscale', 'hires-fix'] },
    },
    upscalingScale: {
      kind: { type: 'number', min: 1, max: LIMITS.upscaling },
      help: "How many times as wide and as high results are; where the network's own scale is another, its result is resampled (Lanczos).",
      flag: { group: UPSCALING, otherwise: "the network's own", elsewhere: ['upscale-factor', 'outscale'] },
    },
    enableTeacache: {
      kind: { type: 'boolean' },
      help: 'Steps whose input has moved little reuse what the blocks gave before (TeaCache, with the coefficients that are published for the model).',
      default: false,
      flag: { group: 'Attention and caching', otherwise: 'false' },
    },
    tiling: {
      kind: { type: 'boolean' },
      help: 'Encode and decode in strips: the same image in less memory.',
      default: false,
      field: 'vae_tiling',
      flag: { name: 'vae-tiling', group: 'Performance', otherwise: 'false' },
    },
  },
);
