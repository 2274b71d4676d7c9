// Attention backends by the names of SGLang, of diffusers and our own, and the settings of those that have some.

import { badRequest } from '../../files/error.ts';
import { type Message, option, say } from '../../files/message.ts';
import { AUTO_ATTENTION, type AttentionChoice, type SparseAttention } from '../../gpu/tape-options.ts';
import type { Device } from '../../gpu/device.ts';
import { DOT_FEATURE } from '../../gpu/capabilities.ts';
import type { ComponentAttention, PipelineAttention } from './stages/attention.ts';

export interface AttentionOptions {
  attentionBackend?: string;
  attentionBackendConfig?: Readonly<Record<string, unknown>>;
  componentAttentionBackends?: Readonly<Record<string, string>>;
}

/** Tokens along the frames, rows and columns of a clip. */
type Window = readonly [number, number, number];

interface Sparse {
  sparsity: number;
  fullSteps: number;
  window: Window | null;
}

type Backend = { kernels: Exclude<AttentionChoice['kernels'], 'sparse'> } | ({ kernels: 'sparse' } & Sparse);

const sparse = (of: Partial<Sparse>): Backend => ({
  kernels: 'sparse',
  ...{ sparsity: 0.5, fullSteps: 0, window: null },
  ...of,
});

const named = (backend: Backend, ...names: string[]) => names.map((name) => [name, backend] as const);

/** Names in lower case → what computes them; defaults are those of SGLang. Names of the same kernel differ in hardware and packages alone. */
const BACKENDS: ReadonlyMap<string, Backend> = new Map([
  ...named({ kernels: 'auto' }, 'auto', 'torch_sdpa', 'torch_cudnn_sdpa', 'cudnn_sdpa', 'dynamic_cudnn_sdpa'),
  ...named(
    { kernels: 'auto' },
    'native',
    '_native_cudnn',
    '_native_efficient',
    '_native_flash',
    'xformers',
    'flex',
  ),
  ...named({ kernels: 'flash' }, 'flash', 'fa', 'fa2', 'fa3', 'fa4', 'aiter', '_flash_3', '_flash_3_hub'),
  ...named(
    { kernels: 'flash' },
    'flash_hub',
    'flash_4_hub',
    'flash_varlen',
    'flash_varlen_hub',
    'aiter_fa2_hub',
  ),
  ...named({ kernels: 'plain' }, 'plain', '_native_math'),
  ...named({ kernels: 'matrix' }, 'matrix'),
  ...named({ kernels: 'sage' }, 'sage', 'sage_attn', 'sage_attn_3', 'sage_attn3', 'sage_hub', 'aiter_sage'),
  ...named({ kernels: 'sage' }, 'sage_varlen', 'sage_blackwell_hub', '_sage_qk_int8_pv_fp16_cuda'),
  ...named({ kernels: 'sage' }, '_sage_qk_int8_pv_fp16_triton'),
  ...named(sparse({}), 'sparse', 'sparge_attn', 'sparse_video_gen_2_attn'),
  ...named(sparse({ sparsity: 0.2, fullSteps: 10 }), 'block_sparse_attn'),
  ...named(sparse({ sparsity: 0 }), 'video_sparse_attn'),
  ...named(sparse({ fullSteps: 12 }), 'vmoba_attn'),
  ...named(sparse({ window: [9, 24, 24], fullSteps: 15 }), 'sliding_tile_attn'),
]);

/** Keys of SGLang's settings that other keys of ours replace, with the reason why they are refused. */
const UNREAD: Readonly<Record<string, string>> = {
  mask_strategy_file_path: 'windows of single heads are not read: give one window for all as `window`',
  moba_threshold: 'blocks are chosen by their number: give `sparsity`',
  moba_select_mode: 'blocks are chosen by their number: give `sparsity`',
};

/** Throws bad_request for names and settings that are unknown, and unsupported for backends that the adapter cannot compute. */
export function pipelineAttention(
  options: AttentionOptions,
  device: Pick<Device, 'capabilities'>,
  /** `plain`: whether all kernels are plain f32 ones; `denoiser`: its name in model_index.json; `drawsClips`: whether tokens have a grid. */
  { plain, denoiser, drawsClips }: { plain: boolean; denoiser: string; drawsClips: boolean },
): PipelineAttention {
  const { attentionBackend = 'auto', attentionBackendConfig = {}, componentAttentionBackends = {} } = options;
  const opened = (name: string, setting: string): ComponentAttention => {
    const backend = backendOf(name, setting);
    assertComputable(backend, name, { device, plain, setting });
    const attention = withSettings(backend, attentionBackendConfig);
    if (!drawsClips && attention.choice.kernels === 'sparse' && attention.choice.window)
      throw badRequest(
        say`${option(setting)} is ${name}, whose window is one of frames, and the model draws images: choose sparse, with sparsity`,
        setting,
      );
    return attention;
  };
  const components = ['text_encoder', denoiser, 'vae'];
  const unknown = Object.keys(componentAttentionBackends).find(
    (name) => !components.includes(underscored(name)),
  );
  if (unknown !== undefined)
    throw badRequest(
      say`${option('componentAttentionBackends')} names ${unknown}: name one of ${components.join(', ')}, each of which speaks for others of its kind`,
      'componentAttentionBackends',
    );
  const own = new Map(
    Object.entries(componentAttentionBackends).map(([given, name]) => [
      underscored(given),
      opened(name, 'componentAttentionBackends'),
    ]),
  );
  const named = opened(attentionBackend, 'attentionBackend');
  const isSparse = [named, ...own.values()].some(({ choice }) => choice.kernels === 'sparse');
  if (!isSparse && Object.keys(attentionBackendConfig).length > 0)
    throw badRequest(
      say`${option('attentionBackendConfig')} has settings of sparse attention, and ${option('attentionBackend')} is ${attentionBackend}: leave it out, or choose sparse`,
      'attentionBackendConfig',
    );
  const usual = { choice: AUTO_ATTENTION, fullSteps: 0 };
  return {
    textEncoder: own.get('text_encoder') ?? usual,
    denoiser: own.get(denoiser) ?? named,
    autoencoder: own.get('vae') ?? usual,
  };
}

const underscored = (name: string): string => name.replaceAll('-', '_');

function backendOf(name: string, setting: string): Backend {
  const backend = BACKENDS.get(name.toLowerCase());
  if (backend) return backend;
  const names = [...BACKENDS.keys()].join(', ');
  throw badRequest(
    say`${option(setting)} is ${name}, which this engine does not know: choose one of ${names}`,
    setting,
  );
}

function assertComputable(
  { kernels }: Backend,
  name: string,
  { device, plain, setting }: { device: Pick<Device, 'capabilities'>; plain: boolean; setting: string },
): void {
  const { matrixUnit, integerDots } = device.capabilities;
  const refuse = (why: Message | string) => {
    throw badRequest(say`${option(setting)} is ${name}, and ${why}: leave it out`, setting);
  };
  if (plain && kernels !== 'auto' && kernels !== 'plain')
    refuse(say`${option('backend')} generic has plain kernels`);
  if (kernels === 'matrix' && !matrixUnit) refuse('the adapter has no matrix units that WebGPU offers');
  if (kernels === 'sage' && !integerDots) refuse(`this WebGPU lacks the language feature ${DOT_FEATURE}`);
}

/** What settings of SGLang's backends may say, and ours. */
function withSettings(backend: Backend, settings: Readonly<Record<string, unknown>>): ComponentAttention {
  if (backend.kernels !== 'sparse') return { choice: { kernels: backend.kernels }, fullSteps: 0 };
  let { sparsity, fullSteps, window } = backend;
  for (const [key, value] of Object.entries(settings)) {
    if (key === 'sparsity') sparsity = numberIn(key, value, { least: 0, below: 1 });
    else if (FULL_STEPS.has(key)) fullSteps = numberIn(key, value, { least: 0, isWhole: true });
    else if (key === 'window') window = windowIn(value);
    else if (key === 'sta_mode') assertInference(value);
    else refuseKey(key);
  }
  const choice: SparseAttention = { kernels: 'sparse', sparsity, window };
  return { choice, fullSteps };
}

const FULL_STEPS: ReadonlySet<string> = new Set(['skip_first_steps', 'skip_time_steps', 'first_full_step']);

function refuseKey(key: string): never {
  const why = UNREAD[key] ?? `known are sparsity, window, ${[...FULL_STEPS].join(', ')}: choose among them`;
  throw badRequest(
    say`${option('attentionBackendConfig')} has ${JSON.stringify(key)}; ${why}`,
    'attentionBackendConfig',
  );
}

/** Other modes search for windows of single heads. */
function assertInference(mode: unknown): void {
  if (mode !== 'STA_inference')
    throw badRequest(
      say`${option('attentionBackendConfig')} has sta_mode ${JSON.stringify(mode)}: only STA_inference draws; leave it out`,
      'attentionBackendConfig',
    );
}

function numberIn(
  key: string,
  value: unknown,
  { least, below = Infinity, isWhole = false }: { least: number; below?: number; isWhole?: boolean },
): number {
  const fits = typeof value === 'number' && value >= least && value < below;
  if (fits && (!isWhole || Number.isInteger(value))) return value;
  const wanted = isWhole ? 'a whole number from 0 on' : `a number from ${least} to below ${below}`;
  throw badRequest(
    say`${option('attentionBackendConfig')} has ${key} ${JSON.stringify(value)}: give ${wanted}`,
    'attentionBackendConfig',
  );
}

function windowIn(value: unknown): Window {
  const isWindow =
    Array.isArray(value) && value.length === 3 && value.every((one) => Number.isInteger(one) && one >= 1);
  if (isWindow) return value as unknown as Window;
  throw badRequest(
    say`${option('attentionBackendConfig')} has window ${JSON.stringify(value)}: give frames, rows and columns of tokens around a query, as [9, 24, 24]`,
    'attentionBackendConfig',
  );
}
