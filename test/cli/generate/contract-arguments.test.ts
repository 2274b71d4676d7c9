// Every argument of the command's contract, set to a value that changes something: a tiny pipeline is drawn with and without it, and the effect is read
// from the performance file, the saved files or the log.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GENERATE_OPTIONS } from '../../../src/cli/generate/generate-options.ts';
import { root } from '../../../scripts/setup/packages.mjs';
import { tinyPipeline } from '../../engine/image/pipeline-golden.ts';
import {
  configFile,
  configOf,
  pngFile,
  runGenerate,
  type ConfigValues,
  type Drawn,
} from './contract-runs.ts';

vi.setConfig({ testTimeout: 300_000 });
beforeEach(() => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  vi.stubEnv('HF_HOME', HUB);
});
afterEach(() => void vi.unstubAllEnvs());

/** A golden's pipeline, or the image model that ships, whose weights are in f16. */
type Base = 'shipped' | 'flux' | 'sd1-words' | 'wan-image';
type Effect = (drawn: Drawn, plain: Drawn) => void;

const scratch = mkdtempSync(join(tmpdir(), 'svc-arguments-'));
const SCENES = join(root, 'models/svc-scenes-mini');
const LORA = join(tinyPipeline('..'), 'lora-flux/adapter-0.safetensors');

/** Runs of each base without further arguments. */
const plainRuns = new Map<Base, Promise<{ config: string; plain: Drawn }>>();

/** Runs with arguments, by what they are given: rows with equal ones share a run. */
const runs = new Map<string, Promise<Drawn>>();

async function runPlain(base: Base): Promise<{ config: string; plain: Drawn }> {
  const config = await baseConfig(base);
  return { config, plain: await runGenerate(['--config', config]) };
}

async function baseConfig(base: Base, more: ConfigValues = {}): Promise<string> {
  if (base === 'shipped')
    return configFile({
      ...{ 'model-path': SCENES, prompt: 'a boat', width: 64, height: 64 },
      ...{ 'num-inference-steps': 1, seed: 7, ...more },
    });
  if (base !== 'wan-image') return configOf(base, more);
  const image = await pngFile(48, 32);
  return configOf(base, { 'image-path': image, 'last-image-path': image, ...more });
}

/** Expects another image than without the argument. */
const differs: Effect = ({ results }, { results: before }) => {
  expect(results).toHaveLength(before.length);
  expect(results[0]).not.toBe(before[0]);
};

const same: Effect = ({ results }, { results: before }) => expect(results).toEqual(before);

const peakOf = ({ perf }: Drawn, stage: string): number =>
  perf.memory_checkpoints[`after_${stage}`]!.peak_allocated_mb;

/** Expects the same result in less memory of a stage. */
const lightens =
  (stage: string): Effect =>
  (drawn, plain) => {
    same(drawn, plain);
    expect(peakOf(drawn, stage)).toBeLessThan(peakOf(plain, stage));
  };

/** Expects a result of several ranks, of which each received something from the others. */
const exchanges =
  (ranks: number): Effect =>
  ({ perf, results }) => {
    expect(results).toHaveLength(1);
    expect(perf.exchange).toMatchObject({ ranks });
    expect(perf.exchange.received_mb).toBeGreaterThan(0);
  };

const logs =
  (text: string): Effect =>
  ({ err }) =>
    expect(err).toContain(text);

/** A folder of another scheduler. */
const TAILED = mkdtempSync(join(scratch, 'scheduler-'));
writeFileSync(
  join(TAILED, 'scheduler_config.json'),
  JSON.stringify({ _class_name: 'EulerDiscreteScheduler', beta_end: 0.02, prediction_type: 'v_prediction' }),
);

/** The tiny pipeline with zeros at the end of its transformer's weights. */
const OTHER = join(scratch, 'other');
cpSync(tinyPipeline('flux'), OTHER, { recursive: true });
const WEIGHTS = join(OTHER, 'transformer/diffusion_pytorch_model.safetensors');
const bytes = readFileSync(WEIGHTS);
writeFileSync(WEIGHTS, bytes.fill(0, bytes.length - 8192));

/** A cache of the hub that holds the tiny pipeline at one branch. */
const HUB = join(scratch, 'hub');
const SNAPSHOT = join(HUB, 'hub/models--acme--tiny/snapshots/0123456789012345678901234567890123456789');
mkdirSync(join(HUB, 'hub/models--acme--tiny/refs'), { recursive: true });
writeFileSync(join(HUB, 'hub/models--acme--tiny/refs/of-tests'), SNAPSHOT.slice(-40));
cpSync(tinyPipeline('sd1'), SNAPSHOT, { recursive: true });

const TWO = ['--num-gpus', '2', '--logical-ranks'];
const PASSES = [...TWO, '--enable-cfg-parallel'];
const TOKENS = [...TWO, '--dp-degree', '2', '--sp-degree', '2'];
/** As many as the transformer has heads. */
const THREE = ['--num-gpus', '3', '--logical-ranks'];

/** Runs that show several arguments, each by an effect of its own. */
const SMALL = ['--height', '24', '--width', '32', '--num-inference-steps', '1', '--trust-remote-code'];
const PLAIN = ['--enable-torch-compile', '--backend', 'generic'];
const WARM = ['--warmup', '--warmup-steps', '2'];
const FILES = ['--output-path', join(scratch, 'elsewhere'), '--perf-dump-path', join(scratch, 'perf.json')];

interface Row {
  base: Base;
  /** Typed after `--config`. */
  typed: string[];
  effect: Effect;
  /** Values of the configuration in place of the base's; undefined: left out. */
  config?: ConfigValues;
}

const row = (base: Base, typed: string[], effect: Effect, config?: Row['config']): Row => ({
  ...{ base, typed, effect },
  ...(config && { config }),
});

const steps =
  (count: number): Effect =>
  ({ perf }) =>
    expect(perf.denoise_steps_ms).toHaveLength(count);

const warmedUp: Effect = (drawn, plain) => {
  same(drawn, plain);
  expect(plain.perf.warmup_duration_ms).toBeNull();
  expect(drawn.perf.warmup_duration_ms).toBeGreaterThan(0);
};

/** Argument of the contract → what it must change. */
const ARGUMENTS: Record<string, Row> = {
  config: row('flux', ['--seed', '8'], differs),
  'model-path': row('flux', ['--model-path', OTHER], differs),
  prompt: row('flux', ['--prompt', 'a boat'], differs),
  'model-id': row('flux', ['--model-id', 'flux-schnell'], steps(4), { 'num-inference-steps': undefined }),
  backend: row('flux', PLAIN, ({ perf }, plain) => {
    expect(plain.perf.attention_kernels['denoising']).toEqual(['flash']);
    expect(perf.attention_kernels['denoising']).toEqual(['plain']);
  }),
  'trust-remote-code': row('flux', SMALL, logs('Python of a repository is never run')),
  revision: row(
    'sd1-words',
    ['--model-path', 'acme/tiny', '--revision', 'of-tests'],
    ({ perf, results }, plain) => {
      expect(results).toEqual(plain.results);
      expect(perf.meta.model).toBe('tiny');
    },
  ),
  'negative-prompt': row('sd1-words', ['--negative-prompt', 'boats'], differs),
  'num-inference-steps': row('flux', SMALL, steps(1)),
  'guidance-scale': row('sd1-words', ['--guidance-scale', '2'], differs),
  height: row('flux', SMALL, ({ sizes }) => expect(sizes).toEqual([[expect.anything(), 24]])),
  width: row('flux', SMALL, ({ sizes }) => expect(sizes).toEqual([[32, expect.anything()]])),
  seed: row('flux', ['--seed', '8'], ({ perf }) => expect(perf.seeds).toEqual([8])),
  'num-samples': row('flux', ['--num-samples', '2'], ({ results }, plain) => {
    expect(results).toHaveLength(2);
    expect(results[0]).toEqual(plain.results[0]);
  }),
  'num-gpus': row('sd1-words', PASSES, exchanges(2)),
  'tp-size': row('flux', [...THREE, '--tp-size', '3'], exchanges(3)),
  'sp-degree': row('flux', TOKENS, exchanges(2)),
  'ulysses-degree': row('flux', [...THREE, '--ulysses-degree', '3'], exchanges(3)),
  'ring-degree': row('flux', [...TWO, '--ring-degree', '2'], exchanges(2)),
  'dp-size': row('flux', [...TWO, '--dp-size', '2', '--num-samples', '2'], ({ perf }) =>
    expect(new Set(perf.outputs.map(({ replica }) => replica))).toEqual(new Set([0, 1])),
  ),
  'dp-degree': row('flux', TOKENS, exchanges(2)),
  'enable-cfg-parallel': row('sd1-words', PASSES, exchanges(2)),
  'attention-backend': row('flux', ['--attention-backend', 'plain'], ({ perf }) =>
    expect(perf.attention_kernels['denoising']).toEqual(['plain']),
  ),
  'attention-backend-config': row(
    'flux',
    ['--attention-backend', 'sparse', '--attention-backend-config', 'sparsity=0.5,skip_first_steps=0'],
    ({ perf }) => expect(perf.attention_kernels['denoising']).toContain('sparse'),
    { 'generic-kwargs': undefined }, // 512 tokens of text, enough to leave some out
  ),
  'cache-dit-config': row(
    'flux',
    ['--cache-dit-config', 'method=first_block,threshold=1e9', '--num-inference-steps', '3'],
    ({ perf }) => expect(perf.denoise_steps_ms.at(-1)!.reused).toBeGreaterThan(0),
  ),
  'dit-cpu-offload': row('flux', ['--dit-cpu-offload'], lightens('decoding')),
  'dit-layerwise-offload': row('flux', ['--dit-layerwise-offload'], lightens('denoising')),
  'text-encoder-cpu-offload': row('flux', ['--text-encoder-cpu-offload'], lightens('denoising')),
  'image-encoder-cpu-offload': row('wan-image', ['--image-encoder-cpu-offload'], lightens('denoising')),
  'vae-cpu-offload': row('wan-image', ['--vae-cpu-offload'], lightens('denoising')),
  'lora-path': row('flux', ['--lora-path', LORA], differs),
  'lora-nickname': row(
    'flux',
    ['--lora-path', LORA, '--lora-nickname', 'style', '--prompt', 'a house <lora:style:0>'],
    ({ code, results }) => expect([code, results.length]).toEqual([0, 1]),
  ),
  'lora-scale': row('flux', ['--lora-path', LORA, '--lora-scale', '0'], same),
  'lora-target-modules': row('flux', ['--lora-path', LORA, '--lora-target-modules', 'attn'], differs),
  'transformer-weights-path': row(
    'flux',
    ['--transformer-weights-path', join(OTHER, 'transformer')],
    differs,
  ),
  'quantizer-config': row(
    'shipped',
    ['--enable-svdquant', '--quantizer-config', 'rank=2,group_size=32'],
    (drawn, plain) => {
      differs(drawn, plain);
      expect(drawn.perf.meta.svdquant).toContain('r2_g32');
    },
  ),
  'enable-torch-compile': row('flux', PLAIN, ({ perf }) =>
    expect(perf.warmup_duration_ms).toBeGreaterThan(0),
  ),
  warmup: row('flux', WARM, warmedUp),
  'warmup-steps': row('flux', WARM, (drawn, plain) => {
    warmedUp(drawn, plain);
    expect(drawn.perf.options['warmup_steps']).toMatchObject({ value: 2 });
  }),
  'disable-autocast': row('shipped', ['--disable-autocast'], (drawn, plain) =>
    expect(peakOf(drawn, 'denoising')).toBeGreaterThan(peakOf(plain, 'denoising')),
  ),
  'output-path': row('flux', FILES, ({ results }) => {
    expect(results).toEqual([]);
    expect(existsSync(join(scratch, 'elsewhere/generated_image_0.png'))).toBe(true);
  }),
  'perf-dump-path': row('flux', FILES, () => expect(existsSync(join(scratch, 'perf.json'))).toBe(true)),
  'generic-kwargs': row(
    'flux',
    ['--generic-kwargs', '{"num_inference_steps": 1, "max_sequence_length": 40}'],
    steps(1),
    {
      'num-inference-steps': undefined,
    },
  ),
  'component-paths': row('shipped', ['--component-paths', JSON.stringify({ scheduler: TAILED })], differs),
  'pipeline-class-name': row(
    'flux',
    ['--pipeline-class-name', 'FluxImg2ImgPipeline', '--image-path', 'PNG'],
    ({ perf }) => expect(perf.meta.pipeline).toBe('FluxImg2ImgPipeline'),
  ),
};

describe('each argument of the contract has its effect', () => {
  it.each(Object.entries(ARGUMENTS))('--%s', async (_, { base, typed, effect, config: own }) => {
    const known = plainRuns.get(base) ?? runPlain(base);
    plainRuns.set(base, known);
    const { config, plain } = await known;
    const png = await pngFile(56, 40);
    const given = typed.map((word) => (word === 'PNG' ? png : word));
    const key = JSON.stringify([base, typed, own]);
    const run =
      runs.get(key) ?? runGenerate(['--config', own ? await baseConfig(base, own) : config, ...given]);
    runs.set(key, run);
    const drawn = await run;
    expect([drawn.code, drawn.err]).toEqual([0, expect.anything()]);
    effect(drawn, plain);
  });
});

it('each argument of the contract is an option', () => {
  expect(Object.keys(ARGUMENTS).filter((name) => !(name in GENERATE_OPTIONS))).toEqual([]);
});
