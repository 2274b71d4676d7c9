// Tests that only `npm test -- --all` runs, by their full names. The plain `npm test` is for each change and has to end in minutes on two cores. Of its
// time 44 % went to one test in thirty-five: to further families, options and formats in places where other tests of the same file show some of each
// kind, and to threads, browsers and processes around what is tested without them. Eight files do not run at all: large embeddings, mixes of codes, strips of a
// decoder, files of Lumina 2 and of Wan, media of Gemma 3n, media in pages, packaged apps. Files that are run by themselves run whole.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/setup/packages.mjs';

const IMAGE = {
  agreements: [/from a worker/, /weights in f32/, /weights in int8/],
  'attention-backends': [/sparse attention that leaves nothing out/],
  batch: [
    /golden (chroma|flux|flux2-klein-reference|ltx|pixart|sana|wan)$/,
    /by plain kernels/,
    /of Stable Diffusion XL/,
    /one clip at a time/,
    /golden (qwen-image-edit|lumina2|z-image-guided)$/,
  ],
  'calls/control': [
    /as strongly as the class/,
    /the same bits wherever/,
    /XL is steered/,
    /all networks that diffusers/,
  ],
  'coded-file': [/in NF4/, /UNet of Stable Diffusion XL/, /FP8 cast/, /UNet of Stable Diffusion 1 /],
  'coded-flux': [/Fill by/, /in NF4/],
  'coded-transformers': [/Chroma in codes/, /FLUX\.2 dev/, /without its first dimension/, /T5 from a GGUF/],
  'control-steps': [/a profile counts/],
  'lora/image-loras': [
    /generic$/,
    /lora-(flux|lumina2|qwen-image|sana|sd1-two|sd3|sdxl-sgm), svc/,
    /merged where weights are loaded/,
    /have the (scale|strength)/,
  ],
  'not-finite': [/plain kernels either/, /a step of Stable Diffusion/],
  offload: [
    /(qwen-image, quantization int4|sd1, quantization int8)/,
    /every option of offloading together/,
    /layers that have room/,
  ],
  'offload-combinations': [/LoRAs \{"quantization":"int8"/, /codes (FP8|GGUF|NF4|int4)/, /LoRAs \{\}$/],
  'offload-failures': [/[12]\.[18] MiB/, /less memory than the budget/, /whose layers are streamed ends if/],
  'offload-families': [
    /family '(chroma|flux2|hunyuan-video|ltx-video|pixart|qwen-image|sana|stable-diffusion-3)'/,
    /pipeline-(flux|wan) draws/,
    /pipeline-wan with steps/,
    /control-sd1/,
    /two transformers/,
  ],
  'offload-file': [
    /packed once/,
    /two layers ahead/,
    /"quantization":"int8"/,
    /from a file (by a budget|quantized|some of them)/,
    /ends with the reason if the file is cut/,
    /streamed from a file all/,
  ],
  open: [/own size is noted/, /kernels of sd1 at opening/, /kernels of sd1-inpaint/],
  // One golden of each class and of each kind of input is left; schedules have goldens of their own.
  pipelines: [
    /generic kernels pipeline-/,
    /-(hunyuan-image|sana-patched|sdxl-masked)$/,
    /-(chroma-masked|flux2-(cut|klein-guided|klein-references)|flux-(control-image|control-masked|fill-image|guided|masked|schnell))$/,
    /-flux-kontext-(masked|masked-reference|text)$/,
    /-(ltx-timed|lcm-image|lumina2-truncated|pixart-(binned|unguided)|qwen-image-(masked|unguided)|sana-(placed|unguided))$/,
    /-(sd3-(masked|prompts|skip-dual)|control-(sd1-(crop|two)|lcm|sdxl-image|sdxl-masked))$/,
    /-sd1-(image-pndm|image-timesteps|image-prompt-plus|tiny-autoencoder|inpaint-ancestral|masked-\w+|clip-skip|cuda|emphasis|lcm|tcd|thresholded|unguided)$/,
    /-sd2-(image|inpaint|masked|rescale)$/,
    /-sdxl-(edm|edm-image|image-start|masked-crop|masked-start|clipped|emphasis|empty|negative|rescale|sigmas|sizes|words)$/,
    /-(wan-(image-plain|residual)|z-image-(empty|truncated))$/,
    /kernels pipeline-(control-sdxl|control-sd1-inpaint|wan-image|sdxl-image|sdxl-inpaint|sdxl-refiner|sd1-ancestral|qwen-image-edit-plus)$/,
    /256 KiB pipeline-hunyuan$/,
  ],
  'ranks/guidance-ranks': [
    /golden (flux2-klein-guided|ltx|qwen-image|sd3|z-image-guided) /,
    /Stable Diffusion XL on/,
  ],
  'ranks/matrix-ranks': [/golden (flux2-klein|lumina2|sd1) /],
  'ranks/pairs': [
    /alone generic/,
    /(LoRA × (guidance|offload)|int8 × (ring|divided)|sparse × divided|TeaCache × int8|DeepCache × (guidance|divided))/,
  ],
  'ranks/token-ranks': [
    /golden (pixart|qwen-image-edit|hunyuan|sd3-dual|flux2-klein-guided|ltx-image|wan-frames|z-image) /,
  ],
  shipped: [/in 20 steps/, /previews by a linear map/],
  'single-file': [
    /v_prediction/,
    /refines an image/,
    /cpp renamed/,
    /of nine channels/,
    /A1111/,
    /(Stable Diffusion (XL|2)|Qwen-Image) draws/,
  ],
  'single-file-lumina2': [/draws from a file/],
  'single-file-sd3': [/from a transformer of its makers/],
  'single-file-wan': [/draws from a file/],
  'stages/decoder-memory': [/works in strips/],
  'stages/draw': [/unconditional passes/, /leaves its positions nowhere/],
  'stages/upscaling': [/in strips/],
  'step-caches': [/flux2-mag/, /sdxl-deep-levels/, /pipeline-sdxl/],
  'families/qwen-image/qwen-image': [/from a GGUF file and its tower/],
  'single-file-ltx': [/LTX-Video draws/],
  'single-file-refusals': [/damaged m\.gguf/],
  svdquant: [/stand beside the low-rank part/],
  'flux2-file': [/cut behind the last layer/],
};

const TEXT = {
  'cache/cache-tiers': [/"seed":(7|8|10),/],
  'constrained-shipped': [/writes JSON objects/, /sixteen schemas/],
  'device-lost': [
    /(whose folder|a LoRA that) is gone/,
    /LoRAs survive/,
    /pages of a prompt in host/,
    /no request runs/,
    /fewer pages/,
  ],
  'expert-slots': [
    /profile: 'discrete'/,
    /^qwen3-next /,
    /^gguf/,
    /^gpt-oss-mxfp4 /,
    /'int4'/,
    /may be in a file/,
    /layers in host memory, too/,
  ],
  'kv-formats': [/log probabilities of a conversation/],
  lora: [/has slept/],
  'media/gguf-towers': [/transformers (qwen3-vl|'gemma3n')|sounds of gemma3n/],
  'media/tower-bindings': [/pixtral|qwen3-vl|qwen2-5-vl|internvl/],
  phases: [/tokens of (granite-hybrid|qwen3-moe|qwen3-next) with phases/, /keys expanded from latents/],
  sources: [/(flan-t5|bart|mt5): 32/],
  'speculation/draft-model': [/drafts\/(deepseek-v32|qwen3-next)-mtp/],
  'speculation/families': [/qwen3-next .* on the kernels of GPUs/],
  'speculation/grammars': [/logprobs: 1/, /speculative: false/, /hiddenStates/, /JSON Schema and \{\}/],
  'step/activations': [/in 8 bits are near/],
  'step/hidden-states': [/plain$/],
  'streaming-file': [
    /device is lost while layers come from host/,
    /layers in a file (some of them|are quantized)/,
  ],
  'media/gemma3n': [/makes the ids/],
  'media/phi4': [/small makes/],
  'media/pixtral': [/deepseek-ocr makes/],
  'mixed-windows': [/after the loss/, /come back from host/],
  'speculation/drafts': [/'(deepseek-v32|qwen3-next)-mtp'/],
  streaming: [/^(olmoe|lfm2) has the tokens/],
};

const KERNELS = {
  attend: [/several teams/, /one head of 512/],
  'attend-matrix': [/keys of each item/],
  'attend-shared': [/does not depend on the tile/],
  'attention-chunked': [/80 dims/],
  'attention-latent': [/tokens that were chosen/],
  'attention-phases': [/the longest context/],
  'attention-prompt-matrix': [/Intel's fragments/, /pages in int4/],
  'attention-variants': [/fewer queries/],
  'channel-norm': [/in strips of undefined/],
  'conv2d-matrix': [/Intel's units/],
  'dispatch-work': [/rows after a prompt/],
  experts: [/'rows of a decode step on a GPU, in/],
  'gated-delta': [/discrete prompts .*run: 4/, /discrete prompts .*keyDims: 128/],
  'gather-tokens': [/let keys go around/],
  'gemm-matrix': [/Apple's/, /Intel's/],
  'head-linear': [/'a GPU, in windows/],
  logprobs: [/many workgroups a row/],
  'place-terms': [/on \{\}$/],
  profiles: [/"lanes":4.*integrated/],
  'selective-scan': [/in chunks .*stateDims: 136/],
  'stored-formats': [/q4_k matmuls/],
  tiling: [/convolution, \{"winograd":true\}/],
};

const MODELS = {
  'image/autoencoders/autoencoder-hunyuan': [/plain vae-hunyuan-decode/],
  'image/autoencoders/autoencoder-ltx': [/plain vae-ltx-(noisy|timed)/],
  'image/autoencoders/autoencoder-wan': [
    /tuned vae-wan-residual-decode/,
    /plain vae-wan-decode/,
    /clips plain vae-wan-(encode|residual)/,
    /256 KiB vae-wan-residual/,
    /tuned vae-wan-residual-encode/,
  ],
  'image/autoencoders/taehv': [/plain taehv-(patched|wan)/],
  'image/unet/unet': [/plain unet-(inpaint|sd1-odd|sdxl)$/],
  'image/upscalers/upscaler': [/plain upscale-rrdb-x4/],
  // Of adapters without subgroups: layers of three kinds.
  'text/blocks/decoder': [
    /without subgroups (?!gemma2 |lfm2 |llama )/,
    /as it is (deepseek-v32|gemma3n|gpt-oss) default: four/,
    /as it is (ernie4-5-moe|llama4|phimoe) default: logits/,
  ],
};

const PROGRAMS = {
  'browser/electron': [/an image and an embedding/],
  'browser/example': [/answers a question and draws/],
  'browser/kernels': [/^(attend-choice|gemm)$/],
  'browser/media': [/reads files, pixels/],
  'browser/shipped': [
    /the masked part/,
    /the next image is that of Node/,
    /that is aborted/,
    /the device is lost/,
  ],
  'browser/stored-models': [/adapters come from/],
  'browser/text-worker': [/isolated: true/],
  'cli/failed-opening': [/svc (chat|generate) ends/],
  // The engine's own tests draw with and without these options.
  'cli/generate/contract-arguments': [
    /--(lora-scale|lora-target-modules|dit-layerwise-offload|num-samples)$/,
    /--(tp-size|ulysses-degree|ring-degree|dp-size|dp-degree|sp-degree)$/,
    /--(attention-backend|attention-backend-config|cache-dit-config|quantizer-config|disable-autocast|warmup|warmup-steps)$/,
    /-cpu-offload$/,
    /--(backend|num-gpus|revision|guidance-scale)$/,
  ],
  'cli/generate/generate-failures': [/the images before and after/, /the clip before an interrupt/],
  'cli/generate/generate-process': [/never shares a file name/, /130 at SIGTERM/],
  'cli/opening-signals': [
    /svc serve .* SIGTERM after "(Loading|artificially)/,
    /SIGINT after "Listening on"/,
  ],
  'cli/serve/on-demand': [/real models share/],
  'cli/svc': [/the whole of standard input/, /no question came/, /got no answer/],
  'host/electron/packed': [/of a packaged app/],
  'host/node/worker': [
    /that never closes its model/,
    /exit while/,
    /closing twice/,
    /without a chat template/,
  ],
  'host/plan': [/component by component/, /counts its towers/],
  'host/plan-agreement': [
    /svc-chat-mini (as none|names the change)/,
    /svc-chat-mini as int4/,
    /within 10\.5 MiB/,
    /as none agrees/,
  ],
  'live/runtimes': [/driver of the system's loader/],
  'live/serve': [/an idle model leaves/, /a second SIGINT/, /SIGTERM while the model opens/],
  'web/frame': [/1600 px/],
  'host/node/plan': [/a context beyond the model and/],
};

const SCRIPTS = {
  'bench-images': [/measures a (FLUX|Wan|guided)/],
  'gpu-check-matrices': [/attention of images/],
};

/** What is left to the whole run, by path. */
const LEFT_OUT = {
  ...byPath('test/engine/image', IMAGE),
  ...byPath('test/engine/text', TEXT),
  ...byPath('test/engine', {
    'embedding/embedding': [/in a thread of its own/],
    memory: [/exceeds a binding/],
    'check/check-kernels': [/kernels of GPUs are/],
    'coded-weights': [/AWQ/, /compressed-tensors weights of 4/],
    'gguf-greedy': [/(ernie4-5-moe|deepseek-v3|gemma3n|gemma4-moe)$/],
    'mixed-gguf': [/stays in its own codes/],
    'transcription/moonshine': [/windows of other lengths/],
    'transcription/transcription': [/in a thread of its own/],
  }),
  ...byPath('test/kernels', KERNELS),
  ...byPath('test/models', MODELS),
  ...byPath('test', PROGRAMS),
  ...byPath('test/scripts', SCRIPTS, '.mjs'),
  ...byPath('test/scripts', { examples: [/the agent answers/, /Next\.js/] }),
  ...byPath('test/server', {
    engine: [/while the model opens/],
    lifecycle: [/SIGINT/],
    'optional-calls': [/'qwen3_coder' (include|are streamed)/, /'(glm45|pythonic)'/],
    interfaces: [/free-form call/],
  }),
};

/** Whether every test runs. */
export const IS_WHOLE = process.env.TESTS_WHOLE !== undefined;

/**
 * @param {string} path of a test file, from the project's root
 * @returns {readonly RegExp[]} the tests of it that do not run
 */
export function leftOutOf(path) {
  return IS_WHOLE ? [] : (LEFT_OUT[path] ?? []);
}

function byPath(folder, files, extension = '.ts') {
  return Object.fromEntries(
    Object.entries(files).map(([name, patterns]) => {
      const path = `${folder}/${name}.test${extension}`;
      if (!existsSync(join(root, path)))
        throw new Error(`test/left-out.mjs names ${path}, which is not there`);
      return [path, patterns];
    }),
  );
}
