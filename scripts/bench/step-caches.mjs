// Step caches on the image and the video model that ship: how long the denoiser takes with each and without one, in turns in one process, and how
// far the results are from those without. Prints a table in Markdown.
//   node scripts/bench/step-caches.mjs [ROUNDS]

import { fileURLToPath } from 'node:url';
import { openImageModel, shippedImageModelPath, shippedVideoModelPath } from '../../dist/index.js';

const interval = [0.1, 0.7];
const MODELS = [
  {
    name: 'svc-scenes-mini',
    path: shippedImageModelPath(),
    request: { prompt: 'a red balloon over snowy mountains at sunset', seed: 5 },
    caches: {
      'deepcache, interval 2': { method: 'deepcache', cache_interval: 2 },
      'deepcache, interval 3': { method: 'deepcache', cache_interval: 3 },
      'taylorseer of predictions, interval 3': { method: 'taylorseer', cache_interval: 3 },
    },
  },
  {
    name: 'svc-clips-mini',
    path: shippedVideoModelPath(),
    request: { prompt: 'a red balloon rises over the sea at sunset', seed: 5 },
    caches: {
      'first block, 0.1': { method: 'first_block', threshold: 0.1 },
      'first block, 0.2': { method: 'first_block', threshold: 0.2 },
      'dbcache F1, warm-up 4, 0.24': dbcache({}),
      'dbcache with TaylorSeer': dbcache({ enable_taylorseer: true }),
      'mask medium': dbcache({ steps_computation_mask: 'medium', steps_computation_policy: 'static' }),
      'mask ultra': dbcache({ steps_computation_mask: 'ultra', steps_computation_policy: 'static' }),
      'taylorseer, interval 3': { method: 'taylorseer', cache_interval: 3 },
      [`guidance in ${interval.join(' to ')} of the steps`]: { guidance_interval: interval },
    },
  },
];

function dbcache(more) {
  return { Fn_compute_blocks: 1, max_warmup_steps: 4, residual_diff_threshold: 0.24, ...more };
}

const rounds = Number(process.argv[2] ?? 2);
const rows = [];
for (const model of MODELS) rows.push(...(await measured(model)));
const head = ['Model', 'Cache', 'Passes that reused', 'Denoising', 'of that without', 'PSNR'];
for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`);

/** Each cache and none by turns, each model loaded once a turn; the fastest turn counts. */
async function measured({ name, path, request, caches }) {
  const kinds = Object.entries({ none: undefined, ...caches });
  const best = new Map();
  for (let round = 0; round < rounds; round++)
    for (const [kind, cacheDitConfig] of kinds) {
      const model = await openImageModel({
        model: path instanceof URL ? fileURLToPath(path) : path,
        ...(cacheDitConfig && { cacheDitConfig }),
      });
      await model.warmUp(request, 2);
      const drawn = await draw(model, request).finally(() => model.close());
      if (!(best.get(kind)?.ms < drawn.ms)) best.set(kind, drawn);
    }
  const none = best.get('none');
  return kinds.map(([kind]) => {
    const { ms, reused, data } = best.get(kind);
    const apart = kind === 'none' ? '' : `${psnr(data, none.data).toFixed(1)} dB`;
    return [
      name,
      kind,
      `${Math.round(100 * reused)} %`,
      `${(ms / 1000).toFixed(2)} s`,
      (ms / none.ms).toFixed(2),
      apart,
    ];
  });
}

async function draw(model, request) {
  const shares = [];
  let ms = 0;
  let data;
  for await (const event of model.generate(request)) {
    if (event.type === 'step') shares.push(event.reused ?? 0);
    if (event.type === 'stage' && event.name === 'denoising') ms = event.milliseconds;
    if (event.type === 'image') ({ data } = event.image);
  }
  return { ms, data, reused: shares.reduce((sum, share) => sum + share, 0) / shares.length };
}

function psnr(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] - b[i]) ** 2;
  return sum === 0 ? Infinity : 10 * Math.log10(255 ** 2 / (sum / a.length));
}
