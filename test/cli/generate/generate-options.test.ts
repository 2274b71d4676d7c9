// How each option is read and passed to the engine.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { GENERATE_OPTIONS } from '../../../src/cli/generate/generate-options.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generate, type Outcome } from './generate-harness.ts';

const folderOf = temporaryFolders();
let folder: string;
beforeAll(async () => {
  folder = await folderOf({ 'prompts.txt': '\uFEFFa house\r\n\n  \na boat\n' });
});

const BASE = ['--model-path', 'm', '--prompt', 'a house'];
const draw = (...args: string[]): Promise<Outcome> =>
  generate('--output-path', join(folder, 'outputs'), ...args);

it('svc generate draws an empty prompt', async () => {
  const { code, fake } = await draw('--model-path', 'm', '--prompt', '', '--prompt', '  ');
  expect(code).toBe(0);
  expect(fake.requests.map(({ prompt }) => prompt)).toEqual(['', '  ']);
});

describe('a value is read', () => {
  it.each<[string[], object]>([
    [['--num-inference-steps', '4'], { steps: 4 }],
    [['--num-inference-steps=4'], { steps: 4 }],
    [['--guidance-scale', '0'], { guidance: 0 }],
    [['--guidance-scale', '3.5'], { guidance: 3.5 }],
    [['--negative-prompt', ''], { negativePrompt: '' }],
    [['--negative-prompt', 'blurry, dark'], { negativePrompt: 'blurry, dark' }],
    [['--width', '64', '--height', '48'], { width: 64, height: 48 }],
    [['--num-samples', '3'], { samples: 3 }],
    [['--num-outputs-per-prompt', '3'], { samples: 3 }],
    [['--seed', '17'], { seed: 17 }],
    [['--seed', '17', '--seed', '18'], { seed: 18 }],
    [['--scheduler', 'EulerDiscrete'], { scheduler: 'EulerDiscrete' }],
    [['--generator-device', 'cuda'], { generatorDevice: 'cuda' }],
    [['--clip-skip', '2'], { clipSkip: 2 }],
    [['--guidance-rescale', '0.7'], { guidanceRescale: 0.7 }],
    [['--vae-tiling'], { tiling: true }],
    [['--vae-tiling', 'true'], { tiling: true }],
    [['--vae-tiling', 'false'], { tiling: false }],
    [['--vae-tiling=false'], { tiling: false }],
    [['--no-vae-tiling'], { tiling: false }],
    [['--max-sequence-length', '40', '--flow-shift', '2.5'], { maxSequenceLength: 40, flowShift: 2.5 }],
    [['--preview'], { previews: Infinity }],
    [['--generic-kwargs', '{"eta": 0.5}'], { kwargs: { eta: 0.5 } }],
    [['--diffusers-kwargs', '{"eta": 0.5}'], { kwargs: { eta: 0.5 } }],
  ])('%j', async (args, request) => {
    const { code, fake } = await draw(...BASE, ...args);
    expect(code).toBe(0);
    expect(fake.requests[0]).toMatchObject(request);
  });

  it.each<[string[], object]>([
    [[], { model: 'm', backend: 'auto', quantization: 'none' }],
    [['--backend', 'generic'], { backend: 'generic' }],
    [['--backend', 'sglang'], { backend: 'svc' }],
    [['--backend', 'diffusers'], { backend: 'generic' }],
    [['--generic-kwargs', '{"eta": 1}'], { backend: 'auto' }],
    [['--generic-kwargs', '{"eta": 1}', '--backend', 'svc'], { backend: 'svc' }],
    [['--quantization', 'int8'], { quantization: 'int8' }],
    [['--disable-autocast'], { allF32: true }],
    [['--memory-budget', '2GB'], { memoryBudget: 2e9 }],
    [['--adapter', 'nv', '--safe'], { adapter: 'nv', safe: true }],
    [['--revision', 'fp16'], { revision: 'fp16' }],
    [['--model-id', 'x/z-image'], { modelId: 'x/z-image' }],
    [['--component-paths', '{"vae": "a/b"}'], { componentPaths: { vae: 'a/b' } }],
    [
      ['--component-paths.vae', 'a/b', '--component-paths.unet=c=d'],
      { componentPaths: { vae: 'a/b', unet: 'c=d' } },
    ],
    [
      ['--vae-path', 'a/b', '--text-encoder-2-path=c'],
      { componentPaths: { vae: 'a/b', text_encoder_2: 'c' } },
    ],
    [['--pipeline-class-name', 'ZImagePipeline'], { pipelineClassName: 'ZImagePipeline' }],
    [
      ['--lora-path', 'a.safetensors,x/y:b.safetensors', '--lora-scale', '1,-0.5', '--lora-nickname', 'a,b'],
      { loraPath: ['a.safetensors', 'x/y:b.safetensors'], loraScale: [1, -0.5], loraNickname: ['a', 'b'] },
    ],
    [
      ['--lora-path', 'a', '--lora-scale', '0.5', '--lora-target-modules', 'to_q,to_k'],
      { loraPath: ['a'], loraScale: [0.5], loraTargetModules: ['to_q', 'to_k'] },
    ],
    [
      ['--cache-dit-config', 'method=teacache,coefficients=[1, 0]'],
      { cacheDitConfig: { method: 'teacache', coefficients: [1, 0] } },
    ],
    [['--attention-backend', 'sage_attn'], { attentionBackend: 'sage_attn' }],
    [
      ['--attention-backend-config', '{"sparsity": 0.4, "skip_first_steps": 2}'],
      { attentionBackendConfig: { sparsity: 0.4, skip_first_steps: 2 } },
    ],
    [
      ['--attention-backend-config', 'sparsity=0.4, skip_first_steps=2,sta_mode=STA_inference'],
      { attentionBackendConfig: { sparsity: 0.4, skip_first_steps: 2, sta_mode: 'STA_inference' } },
    ],
    [
      ['--component-attention-backends', 'text-encoder=plain,vae=sage'],
      { componentAttentionBackends: { 'text-encoder': 'plain', vae: 'sage' } },
    ],
    [
      ['--component-attention-backends.text-encoder', 'plain', '--component-attention-backends.vae=sage'],
      { componentAttentionBackends: { 'text-encoder': 'plain', vae: 'sage' } },
    ],
  ])('%j for the engine', async (args, options) => {
    const { code, fake } = await draw(...BASE, ...args);
    expect(code).toBe(0);
    expect(fake.opened).toEqual([expect.objectContaining(options)]);
    expect(fake.closed).toBe(1);
  });

  it.each([
    ['attention.yaml', 'sparsity: 0.4\nwindow: [3, 5, 7]\n'],
    ['attention.json', '{"sparsity": 0.4, "window": [3, 5, 7]}'],
  ])('settings of attention in %s', async (name, text) => {
    const path = join(await folderOf({ [name]: text }), name);
    const { code, fake } = await draw(...BASE, '--attention-backend-config', path);
    expect(code).toBe(0);
    expect(fake.opened).toMatchObject([{ attentionBackendConfig: { sparsity: 0.4, window: [3, 5, 7] } }]);
  });

  it('several prompts, in their order', async () => {
    for (const args of [
      ['--prompt', 'a house', '--prompt', 'a boat'],
      ['--prompt-path', join(folder, 'prompts.txt')],
      ['--prompt-file-path', join(folder, 'prompts.txt')],
    ]) {
      const { fake } = await draw('--model-path', 'm', ...args);
      expect(fake.requests.map(({ prompt }) => prompt)).toEqual(['a house', 'a boat']);
    }
  });

  it.each([
    [['--warmup'], [{ steps: 1, tune: false }]],
    [['--warmup', '--warmup-steps', '3'], [{ steps: 3, tune: false }]],
    [['--enable-torch-compile'], [{ steps: 0, tune: true }]],
    [['--enable-torch-compile', '--warmup'], [{ steps: 1, tune: true }]],
    [['--warmup', 'false'], []],
    [['--warmup-mode', 'request', '--warmup-steps', '2'], [{ steps: 2, tune: false }]],
    [['--warmup-mode=off'], []],
    [['--warmup-mode', 'off'], []],
  ])('%j warms up', async (args, warmUps) => {
    const { fake, err } = await draw(...BASE, ...args);
    expect(fake.warmUps).toEqual(warmUps);
    expect(err.includes('Warmed up in')).toBe(warmUps.length > 0);
  });
});

it('--help shows every option in its group, with the default where no value is given', async () => {
  const { code, out, err } = await generate('--help');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain(
    'Usage: svc generate --model-path <model> --prompt <text> [options]\n       svc generate --config',
  );
  for (const name of Object.keys(GENERATE_OPTIONS)) expect(out).toMatch(new RegExp(`^ +--${name}( |$)`, 'm'));
  const groups = [
    'Required (unless --config is given)',
    'Model configuration',
    'Sampling',
    'Starting from an image',
    'Parallelism',
    'Attention and caching',
    'CPU offloading',
    'LoRAs and quantization',
    'Performance',
    'Output and advanced',
  ];
  const places = groups.map((group) => out.indexOf(`\n${group}\n`));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(Math.min(...places)).toBeGreaterThan(0);
  const text = out.replace(/\s+/g, ' ');
  expect(text).toContain("[50, or the model's own]");
  expect(text).toContain("[7.5, or the model's own]");
});

it('--plan prints where weights would be and what each stage would take, and draws nothing', async () => {
  const { code, out, fake } = await draw(
    ...BASE,
    '--plan',
    '--dit-layerwise-offload',
    '--dit-offload-prefetch',
    '2',
  );
  expect({ code, requests: fake.requests }).toEqual({ code: 0, requests: [] });
  expect(fake.opened[0]).toMatchObject({ ditLayerwiseOffload: true, ditOffloadPrefetch: 2 });
  expect(out.split('\n').map((line) => line.replace(/ {2,}/, ': '))).toEqual([
    'text_encoder: Qwen3Model, 512 MiB: read from its files for its stages',
    'transformer: ZImageTransformer2DModel, 12 GiB: 1 GiB of it on the device for its stages, the layers of the rest copied from host memory in turn, 1 ahead',
    'vae: AutoencoderKL, 128 MiB: stays on the device',
    'text-encoding: 1 GiB on the device',
    'denoising: 7 GiB on the device',
    'decoding: 1.5 GiB on the device',
    'drawn at once: 4 results',
    'peak: 7 GiB of a budget of 8 GiB',
    'host memory: 12 GiB',
    '',
  ]);
});
