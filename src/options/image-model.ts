// The settings for opening a model that only image models have.

import { LIMITS } from './limits.ts';
import { RANKS } from './ranks.ts';
import { rowsWith } from './setting.ts';

const MODEL = 'Model configuration';
const WEIGHTS = 'LoRAs and quantization';
const PERFORMANCE = 'Performance';
const OFFLOADING = 'CPU offloading';
const OUTPUT = 'Output and advanced';
const ATTENTION = 'Attention and caching';

const PLANNED = 'planned: what the memory budget asks for';

/** Components whose paths have options of their own, --<component>-path. */
export const COMPONENTS_BY_PATH: readonly string[] = [
  ...['text_encoder', 'text_encoder_2', 'tokenizer', 'tokenizer_2', 'unet', 'transformer', 'vae'],
  ...['preview_decoder', 'image_encoder', 'scheduler'],
];

export const IMAGE_MODEL = rowsWith(
  { models: ['image'] },
  {
    modelId: {
      kind: { type: 'text' },
      help: 'Tells the family where neither the folder nor model_index.json does.',
      flag: { group: MODEL, value: 'id' },
    },
    backend: {
      kind: { type: 'choice', choices: ['auto', 'svc', 'generic'] },
      help: 'svc: tuned kernels; generic: plain f32 kernels, which judge the tuned ones; auto: svc, wherever it runs the pipeline.',
      default: 'auto',
      flag: { group: MODEL },
    },
    ditCpuOffload: {
      kind: { type: 'boolean' },
      help: 'Keep the denoiser in host memory between its stages; false keeps it on the device.',
      flag: { group: OFFLOADING, otherwise: PLANNED },
    },
    ditLayerwiseOffload: {
      kind: { type: 'boolean' },
      help: 'Keep the layers of the denoiser in host memory, or in a file where that is short, and copy each to the device when its turn comes.',
      flag: { group: OFFLOADING, otherwise: PLANNED },
    },
    /** From 0 to below 1: a share of the layers. */
    ditOffloadPrefetch: {
      kind: { type: 'number', min: 0 },
      help: 'Layers copied ahead of their turn, with --dit-layerwise-offload: a number of them, or below 1 a share of all.',
      flag: { group: OFFLOADING, value: 'n', otherwise: '1', aliases: ['dit-offload-prefetch-size'] },
    },
    ditLayerwiseResidentLayers: {
      kind: { type: 'integer', min: 0 },
      help: 'First layers that stay on the device, with --dit-layerwise-offload.',
      flag: { group: OFFLOADING, otherwise: '0' },
    },
    textEncoderCpuOffload: {
      kind: { type: 'boolean' },
      help: 'Keep the text encoders in host memory between their stages; false keeps them on the device.',
      flag: { group: OFFLOADING, otherwise: PLANNED },
    },
    imageEncoderCpuOffload: {
      kind: { type: 'boolean' },
      help: 'Keep the image encoder in host memory between its stages; false keeps it on the device.',
      flag: { group: OFFLOADING, otherwise: PLANNED },
    },
    vaeCpuOffload: {
      kind: { type: 'boolean' },
      help: 'Keep the VAE in host memory between its stages; false keeps it on the device.',
      flag: { group: OFFLOADING, otherwise: PLANNED },
    },
    transformerWeightsPath: {
      kind: { type: 'text' },
      help: "Weights for the denoiser in place of the model's: a .safetensors or .gguf file, or a folder; FP8, NF4, GGUF and SVDQuant's (nunchaku) are computed in their own codes.",
      flag: { group: WEIGHTS, value: 'path', isInput: true },
    },
    enableSvdquant: {
      kind: { type: 'boolean' },
      help: "Quantize the denoiser's matrices to 4 bits with a low-rank part in 16 bits (SVDQuant), once: the result is kept in the cache. Activations stay as they are. A path with svdq-int4_r32 and the like in its name switches it on; files of nunchaku hold such weights already.",
      flag: { group: WEIGHTS, otherwise: 'false' },
    },
    quantizerConfig: {
      kind: { type: 'record', of: { type: 'anything' } },
      help: 'Settings of SVDQuant: precision (int4, nvfp4), rank, group_size (inputs that share a scale: 32, 64, 128; 16 of nvfp4), smoothing (0 to 1: how far columns are brought to one magnitude first). Of a file that holds such weights they must be the ones that it was made with.',
      flag: { group: WEIGHTS, value: 'json|file|key=value,...', aliases: ['nunchaku-config'] },
    },
    quantizationPrecision: {
      kind: { type: 'choice', choices: ['int4', 'nvfp4'] },
      help: 'Codes of SVDQuant.',
      flag: { group: WEIGHTS, otherwise: "the file's name, or int4" },
    },
    quantizationRank: {
      kind: { type: 'integer', min: 1 },
      help: 'Rank of the low-rank part of SVDQuant.',
      flag: { group: WEIGHTS, otherwise: "the file's name, or 32" },
    },
    quantizationActUnsigned: {
      kind: { type: 'boolean' },
      help: 'Signs of activations in 4 bits, to which nothing is rounded here: only false is taken.',
      flag: { group: WEIGHTS, otherwise: 'false' },
    },
    /** Files, folders, or hub ids with or without :file. */
    loraPath: {
      kind: { type: 'list', of: { type: 'text' } },
      help: 'LoRA, LoHa or LoKr files, separated by commas: .safetensors files, folders, or hub ids as owner/name:file. They are merged into the weights, or stand beside those that are stored in codes; a prompt with <lora:nickname:scale> takes the ones that it names.',
      flag: {
        group: WEIGHTS,
        value: 'path,...',
        otherwise: 'none',
        elsewhere: ['lora', 'lora-model-dir'],
        isInput: true,
        mayBeEmpty: true,
      },
    },
    loraNickname: {
      kind: { type: 'list', of: { type: 'text' } },
      help: 'Their names in prompts and requests, in the same order.',
      flag: { group: WEIGHTS, value: 'name,...', otherwise: 'default, or the names of several files' },
    },
    loraScale: {
      kind: { type: 'list', of: { type: 'number' } },
      help: 'How strongly each is merged, in the same order, or one number for all.',
      flag: { group: WEIGHTS, value: 'number,...', otherwise: '1' },
    },
    loraTargetModules: {
      kind: { type: 'list', of: { type: 'text' } },
      help: 'Parts of the names of the modules that they may change, as in attn2.to_k.',
      flag: { group: WEIGHTS, value: 'name,...', otherwise: 'all', mayBeEmpty: true },
    },
    textualInversionPath: {
      kind: { type: 'list', of: { type: 'text' } },
      help: 'Textual inversions for Stable Diffusion 1, 2 and XL, separated by commas: .safetensors files, folders, or hub ids as owner/name or owner/name:file. Prompts name them by the word in the file, or by the name of the file.',
      flag: {
        group: WEIGHTS,
        value: 'path,...',
        otherwise: 'none',
        elsewhere: ['textual-inversion', 'embeddings', 'embedding', 'embeddings-dir', 'embd-dir'],
        isInput: true,
      },
    },
    ipAdapterPath: {
      kind: { type: 'text' },
      help: 'IP-Adapter for Stable Diffusion 1 and XL, ordinary or Plus: a .safetensors file, its folder, or owner/name:file on the hub; takes an --ip-adapter-image, and its encoder with --image-encoder-path.',
      flag: { group: WEIGHTS, value: 'path', elsewhere: ['ip-adapter', 'ip-adapter-model'], isInput: true },
    },
    controlnetPath: {
      kind: { type: 'list', of: { type: 'text' } },
      help: 'ControlNets for Stable Diffusion 1, 2 and XL, separated by commas: folders, .safetensors files, or hub ids as owner/name or owner/name:file; each takes a --control-image.',
      flag: {
        group: WEIGHTS,
        value: 'path,...',
        otherwise: 'none',
        elsewhere: ['controlnet', 'control-net', 'controlnet-model', 'control-model'],
        isInput: true,
      },
    },
    upscalingModelPath: {
      kind: { type: 'text' },
      help: 'Network that enlarges results where that is enabled, an RRDBNet (ESRGAN, Real-ESRGAN) or an SRVGGNetCompact: a .safetensors file, its folder, or owner/name:file on the hub.',
      flag: {
        group: 'Enlarging results',
        value: 'path',
        elsewhere: ['upscale-model', 'upscaler', 'realesrgan-model'],
        isInput: true,
      },
    },
    batchSize: {
      kind: { type: 'integer', min: 1, max: LIMITS.samples },
      help: 'Images or clips of a request, or of requests of one shape whose texts are as long, that are drawn at once; one is the same alone and in any batch. Those with masks or control images in channels of their own, and clips that begin with an image, are drawn one at a time.',
      flag: {
        group: PERFORMANCE,
        otherwise: 'on GPUs as many as memory allows, at most 8; on CPUs 1',
        elsewhere: ['batch-count'],
      },
    },
    ...RANKS,
    attentionBackend: {
      kind: { type: 'text' },
      help: "Attention of the denoiser: auto, flash (tiles in f32), plain (one query at a time), matrix (matrix units), sage (queries and keys in 8 bits), sparse (a query sees a part of the keys), or a name of SGLang's or diffusers' that means one of them.",
      flag: { group: ATTENTION, value: 'name', otherwise: 'auto', elsewhere: ['diffusion-fa', 'fa'] },
    },
    attentionBackendConfig: {
      kind: { type: 'record', of: { type: 'anything' } },
      help: 'Settings of sparse attention: sparsity (share of the blocks of 64 keys that are left out), skip_first_steps (first steps that see all), window (frames, rows and columns of tokens around a query, in models of clips, in place of sparsity).',
      flag: { group: ATTENTION, value: 'json|file|key=value,...' },
    },
    componentAttentionBackends: {
      kind: { type: 'record', of: { type: 'text' } },
      help: 'Attention of text_encoder, of the denoiser by its name, or of vae, as component=name,...; left out: auto for all but the denoiser.',
      flag: { group: ATTENTION, value: 'component=name,...' },
    },
    cacheDitConfig: {
      kind: { type: 'record', of: { type: 'anything' } },
      help: 'Steps of the denoiser that reuse what others computed: method (dbcache, first_block, taylorseer, teacache, magcache, deepcache) and its settings, by the keys of cache-dit, diffusers and TeaCache; guidance_interval (shares of the steps between which guidance has its second pass); secondary (settings of a second transformer).',
      flag: {
        group: ATTENTION,
        value: 'json|file|key=value,...',
        otherwise: 'SVC_CACHE_DIT_*, or every step computes everything',
        isSettings: true,
        mayBeEmpty: true,
      },
    },
    allF32: {
      kind: { type: 'boolean' },
      help: 'Weights and activations in f32 throughout.',
      flag: { name: 'disable-autocast', group: PERFORMANCE, otherwise: 'false' },
    },
    componentPaths: {
      kind: { type: 'record', of: { type: 'text' } },
      help: 'Component of model_index.json to what takes its place: a .safetensors or .gguf file, its folder, or a pipeline that has it, as a path or hub id; preview_decoder is a small decoder (AutoencoderTiny, TAEHV) for previews; also --component-paths.<component> <path> or --<component>-path <path>.',
      flag: { group: OUTPUT, elsewhere: ['vae', 'taesd', 'unet'], isInput: true },
    },
    pipelineClassName: {
      kind: { type: 'text' },
      help: 'Class in place of the one that model_index.json, or the file of a model, names.',
      flag: { group: OUTPUT, value: 'class' },
    },
    /** Can only be set in a program: it has no flag and no field. */
    prepare: {
      kind: { type: 'boolean' },
      help: "Kernels for an image of the model's own size are compiled while it opens.",
    },
  },
);
