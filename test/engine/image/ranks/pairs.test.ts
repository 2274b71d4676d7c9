// Pairs of features: where and in which order work is done changes no result, whatever the numerical features; others are refused by both names.

import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import type { ImageModelOptions } from '../../../../src/index.ts';
import { listen, imagesOf, openPipelineGolden } from '../pipeline-golden.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

type Options = Partial<ImageModelOptions>;
interface Asked {
  samples?: number;
  kwargs?: Record<string, unknown>;
}

const adapter = (name: string): Options => ({
  loraPath: [fileURLToPath(new URL(`../../../golden/image/${name}/adapter-0.safetensors`, import.meta.url))],
});

// Features that have a result of their own.
const INT8: Options = { quantization: 'int8' };
const SVDQUANT: Options = { enableSvdquant: true, quantizerConfig: { rank: 8, group_size: 32 } };
const FIRST_BLOCK: Options = { cacheDitConfig: { method: 'first_block', threshold: 10 } };
const DBCACHE: Options = {
  cacheDitConfig: { max_warmup_steps: 0, Fn_compute_blocks: 1, residual_diff_threshold: 10 },
};
const TEACACHE: Options = {
  cacheDitConfig: {
    method: 'teacache',
    teacache_thresh: 100,
    coefficients: [1, 0],
    start_skipping: 2,
    end_skipping: 0,
  },
};
const DEEPCACHE: Options = { cacheDitConfig: { method: 'deepcache', cache_interval: 2 } };
const INTERVAL: Options = { cacheDitConfig: { guidance_interval: [0, 0.5] } };
const SPARSE: Options = { attentionBackend: 'sparse', attentionBackendConfig: { sparsity: 0.5 } };
const SAGE: Options = { attentionBackend: 'sage' };
const GENERIC: Options = { backend: 'generic' };

// Features that change no result.
const OFFLOAD: Options = { ditLayerwiseOffload: true };
const TWO: Options = { numGpus: 2, logicalRanks: true };
const GUIDANCE: Options = { ...TWO, enableCfgParallel: true };
const GATHER: Options = { ...TWO, kvGatherDegree: 2 };
const HEADS: Options = { ...TWO, ulyssesDegree: 2 };
const RING: Options = { ...TWO, ringDegree: 2 };
const MATRICES: Options = { ...TWO, tpSize: 2, enableCfgParallel: false };
const REPLICAS: Options = { ...TWO, dpSize: 2 };

const SIZE = { width: 32, height: 16 };
const SMALL: Asked = { samples: 1, kwargs: { num_inference_steps: 1, ...SIZE } };
/** Steps, of which later ones may reuse. */
const TWICE: Asked = { samples: 1, kwargs: { num_inference_steps: 2, ...SIZE } };
/** Tokens of some blocks of keys. */
const LARGE: Asked = { samples: 1, kwargs: { num_inference_steps: 1, width: 160, height: 160 } };

async function drawn(golden: string, options: Options, { kwargs, ...asked }: Asked) {
  const { model, request } = await openPipelineGolden(`pipeline-${golden}`, options);
  await using _ = model;
  const events = await listen(model, { ...request, ...asked, kwargs: { ...request.kwargs, ...kwargs } });
  return {
    images: imagesOf(events).map(({ data }) => data),
    reused: events.flatMap((event) => (event.type === 'step' ? [event.reused] : [])),
    ranks: events.flatMap((event) => (event.type === 'exchange' ? [event.ranks] : [])),
    kernels: events.flatMap((event) => (event.type === 'stage' ? event.attention : [])),
  };
}

type Drawn = Awaited<ReturnType<typeof drawn>>;

/** Results without the features that change none, by what they are of. */
const alone = new Map<string, Promise<Drawn>>();

function drawnAlone(...of: Parameters<typeof drawn>): Promise<Drawn> {
  const key = JSON.stringify(of);
  const known = alone.get(key) ?? drawn(...of);
  alone.set(key, known);
  return known;
}

const largest = (a: Uint8Array, b: Uint8Array): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), Math.abs(a.length - b.length));

describe('features that go together draw what the numerical ones draw alone', () => {
  it.each<[pair: string, golden: string, numerical: Options, placing: Options, asked?: Asked]>([
    ['LoRA × offload × gathered keys', 'lumina2', adapter('lora-lumina2'), { ...GATHER, ...OFFLOAD }],
    ['sage × divided heads', 'lumina2', SAGE, HEADS],
    ['sage × divided matrices', 'lumina2', SAGE, MATRICES],
    ['sparse × divided heads', 'lumina2', SPARSE, HEADS, LARGE],
    ['first block cache × guidance', 'lumina2', FIRST_BLOCK, GUIDANCE, TWICE],
    ['first block cache × gathered keys', 'lumina2', FIRST_BLOCK, GATHER, TWICE],
    ['first block cache × divided matrices', 'lumina2', FIRST_BLOCK, MATRICES, TWICE],
    ['TeaCache × int8 × offload', 'lumina2', { ...INT8, ...TEACACHE }, OFFLOAD, TWICE],
    ['batch × guidance', 'lumina2', {}, { ...GUIDANCE, batchSize: 2 }, { ...SMALL, samples: 2 }],
    ['generic × ring', 'lumina2', GENERIC, RING],
    ['LoRA × guidance × offload', 'sd1', adapter('lora-sd1-two'), { ...GUIDANCE, ...OFFLOAD }],
    ['int8 × divided matrices', 'sd1', INT8, MATRICES],
    ['DeepCache × guidance', 'sd1', DEEPCACHE, GUIDANCE, TWICE],
    ['DeepCache × divided matrices', 'sd1', DEEPCACHE, MATRICES, TWICE],
    ['DeepCache × replicas', 'sd1', DEEPCACHE, REPLICAS, TWICE],
    ['int8 × ring × offload', 'wan', INT8, { ...RING, ...OFFLOAD }],
    ['TeaCache × ring', 'wan', TEACACHE, RING, TWICE],
    ['TeaCache × guidance × offload', 'wan', TEACACHE, { ...GUIDANCE, ...OFFLOAD }, TWICE],
    ['DBCache × ring × guidance', 'wan', DBCACHE, { ...RING, ...GUIDANCE, numGpus: 4 }, TWICE],
  ])('%s (%s)', async (_, golden, numerical, placing, asked = SMALL) => {
    const one = await drawnAlone(golden, numerical, asked);
    const placed = await drawn(golden, { ...numerical, ...placing }, asked);
    expect(placed.images).toHaveLength(one.images.length);
    for (const [i, image] of placed.images.entries())
      expect(largest(image, one.images[i]!)).toBeLessThanOrEqual(1);
    expect(placed.reused).toEqual(one.reused);
    if (numerical.cacheDitConfig) expect(placed.reused).toContain(1);
    if (placing.numGpus && !placing.dpSize) expect(placed.ranks).toEqual([placing.numGpus]);
    if (numerical.attentionBackend)
      for (const { kernels } of [one, placed]) expect(kernels).toContain(numerical.attentionBackend);
  });
});

describe('features that do not go together are refused by both names', () => {
  it.each<[golden: string, options: Options, ...named: string[]]>([
    ['lumina2', { ...SPARSE, ...GATHER }, 'attentionBackend', 'kvGatherDegree'],
    ['wan', { ...SPARSE, ...RING }, 'attentionBackend', 'ringDegree'],
    ['lumina2', { ...SAGE, ...RING }, 'attentionBackend', 'ringDegree'],
    ['lumina2', { ...MATRICES, ...HEADS, numGpus: 4 }, 'tpSize', 'ulyssesDegree'],
    ['sd1', { ...adapter('lora-sd1-two'), ...MATRICES }, 'loraPath', 'tpSize'],
    ['sd1', { ...SVDQUANT, ...MATRICES }, 'enableSvdquant', 'tpSize'],
    ['lumina2', { ...INT8, ...GENERIC }, 'quantization', 'backend'],
    ['wan', { ...SPARSE, ...GENERIC }, 'attentionBackend', 'backend'],
    ['lumina2', { ...INTERVAL, ...GUIDANCE }, 'cacheDitConfig', 'cfgParallelSize'],
  ])('%s %j', async (golden, options, ...named) => {
    const refused = await drawn(golden, options, SMALL).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'bad_request' });
    for (const name of named) expect((refused as Error).message).toContain(`\`${name}\``);
  });
});
