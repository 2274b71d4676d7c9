// Attention backends by name, with their settings, and what a tiny pipeline draws with each.

import { beforeAll, describe, expect, it, vi } from 'vitest';
import { pipelineAttention, type AttentionOptions } from '../../../src/engine/image/attention-backends.ts';
import type { ImageEvent } from '../../../src/index.ts';
import { EngineError } from '../../../src/files/error.ts';
import { open, REQUEST } from './open-model.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const able = { capabilities: { matrixUnit: { rows: 16 }, integerDots: true } } as never;
const chosen = (options: AttentionOptions, device = able, plain = false) =>
  pipelineAttention(options, device, { plain, denoiser: 'transformer', drawsClips: true });

function refusal(options: AttentionOptions, device = able, plain = false): string {
  try {
    chosen(options, device, plain);
  } catch (error) {
    if (error instanceof EngineError) return `${error.code}, ${error.param}: ${error.message}`;
  }
  return 'accepted';
}

describe('names', () => {
  it.each([
    ['auto', 'auto'],
    ['torch_sdpa', 'auto'],
    ['FA3', 'flash'],
    ['_flash_3_hub', 'flash'],
    ['plain', 'plain'],
    ['matrix', 'matrix'],
    ['sage_attn_3', 'sage'],
    ['block_sparse_attn', 'sparse'],
  ])('%s is %s', (name, kernels) => {
    expect(chosen({ attentionBackend: name }).denoiser.choice.kernels).toBe(kernels);
  });

  it('the choice is that of the denoiser, and other components have their own', () => {
    const { textEncoder, denoiser, autoencoder } = chosen({
      attentionBackend: 'sage',
      componentAttentionBackends: { 'text-encoder': 'plain' },
    });
    const kernels = [textEncoder, denoiser, autoencoder].map(({ choice }) => choice.kernels);
    expect(kernels).toEqual(['plain', 'sage', 'auto']);
  });
});

describe('settings of sparse attention', () => {
  it('are those of each component that has sparse attention', () => {
    const { denoiser, autoencoder } = chosen({
      attentionBackend: 'sparse',
      attentionBackendConfig: { sparsity: 0.7 },
      componentAttentionBackends: { transformer: 'sage', vae: 'sparse' },
    });
    expect(denoiser.choice).toEqual({ kernels: 'sage' });
    expect(autoencoder.choice).toEqual({ kernels: 'sparse', sparsity: 0.7, window: null });
  });

  it.each([
    ['sparse', {}, { sparsity: 0.5, window: null, fullSteps: 0 }],
    ['block_sparse_attn', {}, { sparsity: 0.2, window: null, fullSteps: 10 }],
    [
      'block_sparse_attn',
      { skip_first_steps: 2, sparsity: 0.4 },
      { sparsity: 0.4, window: null, fullSteps: 2 },
    ],
    [
      'sliding_tile_attn',
      { window: [3, 5, 7], skip_time_steps: 0 },
      { sparsity: 0.5, window: [3, 5, 7], fullSteps: 0 },
    ],
  ])('%s with %j', (attentionBackend, attentionBackendConfig, { fullSteps, ...sparse }) => {
    const { denoiser } = chosen({ attentionBackend, attentionBackendConfig });
    expect(denoiser).toEqual({ choice: { kernels: 'sparse', ...sparse }, fullSteps });
  });
});

it.each<[string, AttentionOptions, RegExp]>([
  [
    'an unknown name',
    { attentionBackend: 'laser_attn' },
    /attentionBackend. is laser_attn, which this engine does not know: choose one of auto, .*sage/,
  ],
  [
    'a component that is not there',
    { componentAttentionBackends: { unet: 'plain' } },
    /names unet: name one of text_encoder, transformer, vae/,
  ],
  [
    'settings without sparse attention',
    { attentionBackend: 'fa', attentionBackendConfig: { sparsity: 0 } },
    /`attentionBackend` is fa: leave it out, or choose sparse/,
  ],
  [
    'a share of everything',
    { attentionBackend: 'sparse', attentionBackendConfig: { sparsity: 1 } },
    /sparsity 1: give a number from 0 to below 1/,
  ],
  [
    'half a step',
    { attentionBackend: 'sparse', attentionBackendConfig: { skip_first_steps: 0.5 } },
    /skip_first_steps 0.5: give a whole number/,
  ],
  [
    'a window of two sides',
    { attentionBackend: 'sparse', attentionBackendConfig: { window: [3, 3] } },
    /window \[3,3\]: give frames, rows and columns/,
  ],
  [
    'windows of single heads',
    { attentionBackend: 'sliding_tile_attn', attentionBackendConfig: { mask_strategy_file_path: 'a.json' } },
    /"mask_strategy_file_path"; windows of single heads are not read/,
  ],
  [
    'an unknown setting',
    { attentionBackend: 'sparse', attentionBackendConfig: { topk: 2 } },
    /"topk"; known are sparsity, window, skip_first_steps/,
  ],
  [
    'a search for windows',
    { attentionBackend: 'sliding_tile_attn', attentionBackendConfig: { sta_mode: 'STA_searching' } },
    /sta_mode "STA_searching": only STA_inference draws/,
  ],
])('%s is refused', (_, options, message) => {
  expect(refusal(options)).toMatch(/^bad_request, (attentionBackend|componentAttentionBackends)/);
  expect(refusal(options)).toMatch(message);
});

it('backends that the adapter or plain kernels cannot compute are refused', () => {
  const bare = { capabilities: { matrixUnit: null, integerDots: false } } as never;
  expect(refusal({ attentionBackend: 'matrix' }, bare)).toMatch(/the adapter has no matrix units/);
  expect(refusal({ attentionBackend: 'sage' }, bare)).toMatch(/lacks the language feature packed_4x8/);
  expect(refusal({ attentionBackend: 'sage' }, able, true)).toMatch(/`backend` generic has plain kernels/);
});

type Drawn = { image: Uint8Array; ran: Record<string, readonly string[]> };

async function drawn(options: AttentionOptions): Promise<Drawn> {
  const { model } = await open(options);
  try {
    const events: ImageEvent[] = [];
    for await (const event of model.generate({ ...REQUEST, width: 64, height: 64, scheduler: 'euler' }))
      events.push(event);
    const image = events.find((event) => event.type === 'image')!.image.data;
    const ran = events.flatMap((event) => (event.type === 'stage' ? [[event.name, event.attention]] : []));
    return { image, ran: Object.fromEntries(ran) as Drawn['ran'] };
  } finally {
    await model.close();
  }
}

let auto: Drawn;
beforeAll(async () => void (auto = await drawn({})));

const apart = (a: Uint8Array, b: Uint8Array): number =>
  a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0) / a.length;

it('a pipeline draws with each backend what it draws without, within its tolerance, and tells what ran', async () => {
  expect(auto.ran['denoising']).toEqual(['flash']);
  const plain = await drawn({ attentionBackend: 'plain', componentAttentionBackends: { vae: 'plain' } });
  expect([plain.ran['denoising'], plain.ran['decoding']]).toEqual([['plain'], ['plain']]);
  expect(apart(plain.image, auto.image)).toBeLessThan(0.01);
  const sage = await drawn({ attentionBackend: 'sage' });
  expect([sage.ran['denoising'], sage.ran['decoding']]).toEqual([['sage'], ['flash']]);
  expect(apart(sage.image, auto.image)).toBeLessThan(1);
  expect(sage.image).not.toEqual(auto.image);
});

it('sparse attention that leaves nothing out draws the same, and after as many full steps as there are, to the bit', async () => {
  const nothing = await drawn({ attentionBackend: 'sparse', attentionBackendConfig: { sparsity: 0 } });
  expect(nothing.ran['denoising']).toContain('sparse');
  expect(apart(nothing.image, auto.image)).toBeLessThan(0.01);
  const most = { sparsity: 0.9 };
  const sparse = await drawn({ attentionBackend: 'sparse', attentionBackendConfig: most });
  expect(sparse.image).not.toEqual(auto.image);
  const full = await drawn({
    attentionBackend: 'sparse',
    attentionBackendConfig: { ...most, skip_first_steps: 2 },
  });
  expect(full.image).toEqual(auto.image);
});
