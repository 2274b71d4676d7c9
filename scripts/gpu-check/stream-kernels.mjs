// What a GPU makes of the kernels of Gemma 3n: streams before and behind a layer, gates of which few open, and norms over time.

import { cumulativeNorm } from '../../dist/kernels/cumulative-norm.js';
import { sparseGate } from '../../dist/kernels/sparse-gate.js';
import { streamAdd } from '../../dist/kernels/stream-add.js';
import { streamCorrect } from '../../dist/kernels/stream-correct.js';
import { meanOfStreams, streamsOf } from '../../dist/kernels/stream-match.js';
import { streamPredict } from '../../dist/kernels/stream-predict.js';
import { takeColumns } from '../../dist/kernels/take-columns.js';

const EPS = 1e-6;
const ROWS = [1, 16, 512];
const SIZES = { hidden: 2048, ffn: 16384 };
const SMALL_SIZES = { hidden: 64, ffn: 96 };
/** Standard deviations below which 95 % of the gates are closed. */
const DEVIATIONS = 1.645;
/** Frames of half a minute of sound behind the first convolution, its bands and channels. */
const SOUND = [1, 1500, 64, 128];
const SMALL_SOUND = [1, 9, 8, 32];

export async function measureStreamKernels(launches) {
  const { small } = launches;
  for (const rows of small ? [1] : ROWS) await measureStreams(launches, small ? SMALL_SIZES : SIZES, rows);
  await measureSound(launches, small ? SMALL_SOUND : SOUND);
}

async function measureStreams(launches, { hidden, ffn }, rows) {
  const [x, streams, gates] = [hidden, 4 * hidden, 2 * ffn].map((columns) =>
    launches.tensor([rows, columns]),
  );
  const [norm, matrix, predictions, corrections] = [[hidden], [4, hidden], [16, 4], [4, 4]].map((shape) =>
    launches.tensor(shape),
  );
  const router = { norm, matrix, eps: EPS };
  await launches.row(
    { name: `Gemma 3n streams and gates, rows: ${rows}`, kernel: 'stream-predict', model: 'Gemma 3n', rows },
    {
      capacity: { rows },
      bytes: 4 * rows * (40 * hidden + 3 * ffn),
      record: (tape) => {
        const y = x.on(tape);
        const all = streamsOf(y, [y, y, y]);
        const first = streamPredict(streams.on(tape), router, predictions);
        sparseGate(gates.on(tape), DEVIATIONS);
        const scaled = streamCorrect(all, first, router, corrections, norm);
        streamAdd(all, scaled, norm, EPS);
        const stream = takeColumns({ x: all, first: hidden }, hidden);
        return meanOfStreams(all, [stream, stream, stream]);
      },
    },
  );
  for (const tensor of [x, streams, gates, norm, matrix, predictions, corrections]) launches.free(tensor);
}

async function measureSound(launches, shape) {
  const x = launches.tensor(shape);
  const weight = launches.tensor([shape.at(-1)]);
  const rows = shape[1];
  await launches.row(
    { name: `Gemma 3n norm over time, rows: ${rows}`, kernel: 'cumulative-norm', model: 'Gemma 3n', rows },
    {
      capacity: {},
      bytes: 16 * shape.reduce((product, size) => product * size),
      record: (tape) => cumulativeNorm(x.on(tape), weight, { eps: EPS, first: 1, end: rows }),
    },
  );
  launches.free(x);
  launches.free(weight);
}
