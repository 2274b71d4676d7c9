// The overhead of ranks that share one adapter: how long the denoiser takes on each division and on one device, in turns in one process, what the
// ranks exchange, and how far the results are apart. Prints a table in Markdown.
//   node scripts/bench/ranks.mjs [ROUNDS]

import { fileURLToPath } from 'node:url';
import { openImageModel, shippedImageModelPath, shippedVideoModelPath } from '../../dist/index.js';

const passes = ['guidance on 2', { enableCfgParallel: true }];
const matrices = ['matrices on 2', { tpSize: 2 }];
const MODELS = [
  {
    name: 'svc-scenes-mini',
    path: shippedImageModelPath(),
    request: { prompt: 'a red balloon over snowy mountains at sunset', seed: 5, steps: 4 },
    divisions: [passes, matrices],
  },
  {
    name: 'svc-clips-mini',
    path: shippedVideoModelPath(),
    request: { prompt: 'a red balloon rises over the sea at sunset', seed: 5, steps: 4 },
    divisions: [
      passes,
      matrices,
      ['tokens on 2, keys gathered', { kvGatherDegree: 2, spDegree: 2 }],
      ['tokens on 2, by heads', { ulyssesDegree: 2, spDegree: 2 }],
      ['tokens on 2, in a ring', { ringDegree: 2, spDegree: 2 }],
    ],
  },
];

const rounds = Number(process.argv[2] ?? 2);
const rows = [];
for (const model of MODELS) rows.push(...(await measured(model)));
const head = [
  'Model',
  'Division',
  'Denoising',
  'of one device',
  'Exchanges',
  'Received',
  'Waited',
  'Furthest',
];
for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`);

/** Each division and one device by turns, each model loaded once a turn; the fastest turn counts. */
async function measured({ name, path, request, divisions }) {
  const kinds = [['one device', null], ...divisions];
  const best = new Map();
  for (let round = 0; round < rounds; round++)
    for (const [kind, division] of kinds) {
      const model = await openImageModel({
        model: path instanceof URL ? fileURLToPath(path) : path,
        ...(division && { numGpus: 2, logicalRanks: true, ...division }),
      });
      await model.warmUp(request, 1);
      const drawn = await draw(model, request);
      await model.close();
      if (!(best.get(kind)?.ms < drawn.ms)) best.set(kind, drawn);
    }
  const one = best.get('one device');
  return kinds.map(([kind]) => {
    const { ms, data, exchange } = best.get(kind);
    const { calls = 0, bytes = 0, milliseconds = 0 } = exchange ?? {};
    const furthest = data.reduce((most, value, i) => Math.max(most, Math.abs(value - one.data[i])), 0);
    return [
      ...[name, kind, `${(ms / 1000).toFixed(2)} s`, (ms / one.ms).toFixed(2), calls],
      ...[
        `${(bytes / 2 ** 20).toFixed(1)} MiB`,
        `${(milliseconds / 1000).toFixed(2)} s`,
        `${furthest} of 255`,
      ],
    ];
  });
}

async function draw(model, request) {
  let ms = 0;
  let data;
  let exchange;
  for await (const event of model.generate(request)) {
    if (event.type === 'stage' && event.name === 'denoising') ms = event.milliseconds;
    if (event.type === 'image') ({ data } = event.image);
    if (event.type === 'exchange') exchange = event;
  }
  return { ms, data, exchange };
}
