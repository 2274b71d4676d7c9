// The small kernels of a step: norms, rotation with the write of keys and values, selective scans, and sampling.

import { Tensor } from '../../dist/gpu/tensor.js';
import { choiceWords } from '../../dist/engine/check/choice-words.js';
import { rmsnorm } from '../../dist/kernels/rmsnorm.js';
import { headBytes } from '../../dist/kernels/kv-format.js';
import { gateNorm } from '../../dist/kernels/gate-norm.js';
import { ropeKv } from '../../dist/kernels/rope-kv.js';
import { sample } from '../../dist/kernels/sample.js';
import { scanState, selectiveScan } from '../../dist/kernels/selective-scan.js';
import { MODELS } from './products.mjs';
import { measureStreamKernels } from './stream-kernels.mjs';

const EPS = 1e-5;
const ROWS = [1, 16, 512];
/** Heads of Mamba-2. */
const SCANS = {
  'Nemotron 3 Nano': { heads: 64, dims: 64, groups: 8, stateDims: 128 },
  'Falcon-H1': { heads: 32, dims: 128, groups: 2, stateDims: 256 },
};
const SMALL_SCANS = { tiny: { heads: 2, dims: 12, groups: 1, stateDims: 24 } };
/** Formats of keys and values in pages. */
const KV_FORMATS = ['f16', 'int8', 'int4'];
const VOCABULARIES = [32000, 151936];
const SAMPLED_ROWS = [1, 16];
/** Sampling as requests ask for it. */
const CHOICES = {
  greedy: { temperature: 0, topP: 1, topK: 0 },
  'temperature 0.8': { temperature: 0.8, topP: 1, topK: 0 },
  'top-k 40': { temperature: 0.8, topP: 1, topK: 40 },
  'top-p 0.95': { temperature: 0.8, topP: 0.95, topK: 0 },
  'top-k 40, top-p 0.95': { temperature: 0.8, topP: 0.95, topK: 40 },
};

export async function measureTextKernels(launches) {
  const { small } = launches;
  const models = small ? { tiny: { hidden: 64, heads: 2, kvHeads: 1, dims: 32 } } : MODELS;
  for (const vocabulary of small ? [300] : VOCABULARIES)
    for (const rows of small ? [1] : SAMPLED_ROWS) await measureSampling(launches, vocabulary, rows);
  for (const [model, shape] of Object.entries(small ? SMALL_SCANS : SCANS))
    for (const rows of small ? [1] : ROWS) await measureScan(launches, model, shape, rows);
  await measureStreamKernels(launches);
  for (const [model, shape] of Object.entries(models)) {
    for (const rows of small ? [1] : ROWS) {
      await measureNorm(launches, model, shape, rows);
      for (const format of KV_FORMATS) await measureRope(launches, model, shape, { rows, format });
    }
  }
}

async function measureScan(launches, model, shape, rows) {
  const { heads, dims, groups, stateDims } = shape;
  const [values, of] = [heads * dims, 2 * groups * stateDims];
  const x = launches.tensor([rows, values + of]);
  const gates = launches.tensor([rows, values + heads]);
  const [rates, offsets, skips] = [heads, heads, heads].map((size) => launches.tensor([size]));
  const weight = launches.tensor([values]);
  const states = launches.region(4 * scanState(shape), null);
  const slots = { store: { kind: 'slot', values: states }, first: 0, stride: scanState(shape) };
  const sequences = launches.words(Uint32Array.of(0, rows, 32, 0));
  const table = launches.words(new Uint32Array(4 * rows)); // all of the first sequence
  await launches.row(
    { name: `${model} scan and gated norm, rows: ${rows}`, kernel: 'selective-scan', model, rows },
    {
      capacity: { rows, sequences: 1 },
      bytes: 4 * (rows * (4 * values + of) + 2 * scanState(shape)),
      record: (tape) => {
        const raw = gates.on(tape);
        const steps = { raw, first: values, offsets, rates, skips, logarithms: true, limits: [0, Infinity] };
        const y = selectiveScan(x.on(tape), steps, shape, { sequences, rows: table }, slots);
        return gateNorm(y, weight, { x: raw, first: 0 }, { groups, eps: EPS });
      },
    },
  );
  for (const tensor of [x, gates, rates, offsets, skips, weight]) launches.free(tensor);
  for (const { buffer } of [states, sequences, table]) launches.device.free(buffer);
}

async function measureNorm(launches, model, { hidden }, rows) {
  const x = launches.tensor([rows, hidden]);
  const weight = launches.tensor([hidden]);
  await launches.row(
    { name: `${model} rmsnorm, rows: ${rows}`, kernel: 'rmsnorm', model, rows },
    {
      capacity: { rows },
      bytes: 4 * hidden * (2 * rows + 1),
      record: (tape) => rmsnorm(x.on(tape), weight, EPS),
    },
  );
  launches.free(x);
  launches.free(weight);
}

async function measureRope(launches, model, { heads, kvHeads, dims }, { rows, format }) {
  const qkv = launches.tensor([rows, (heads + 2 * kvHeads) * dims]);
  const rope = launches.tensor([rows, dims]);
  const places = launches.words(Uint32Array.from({ length: rows }, (_, i) => i));
  const bytes = kvHeads * headBytes(format, dims) * Math.ceil(rows / 32);
  const [keys, values] = [launches.region(bytes, 'f16'), launches.region(bytes, 'f16')];
  const kv = { kind: 'kv', format, table: { pages: places, places }, keys, values };
  await launches.row(
    {
      name: `${model} rope and write of keys and values in ${format}, rows: ${rows}`,
      ...{ kernel: 'rope-kv', model, rows, format },
    },
    {
      capacity: { rows },
      bytes:
        rows *
        (dims * (4 * (heads + 2 * kvHeads) + 4 * heads + 4) + (2 * kvHeads * headBytes(format, dims)) / 32),
      record: (tape) => ropeKv(qkv.on(tape), rope.on(tape), { heads, kvHeads, dims }, kv, null),
    },
  );
  for (const tensor of [qkv, rope]) launches.free(tensor);
  for (const { buffer } of [places, keys, values]) launches.device.free(buffer);
}

async function measureSampling(launches, vocabulary, rows) {
  const logits = launches.device.tensor(
    'step',
    'logits',
    [rows, vocabulary],
    normalNumbers(rows * vocabulary),
  );
  const none = launches.words(new Uint32Array(4));
  const [sampled, ids] = [launches.region(4 * 16, null), launches.region(4 * 16, null)];
  for (const [name, choice] of Object.entries(CHOICES)) {
    const choices = launches.words(choiceWords(Array(rows).fill(choice)));
    const batch = { choices, biases: none, counts: none, sampled, ids };
    await launches.row(
      {
        name: `sampling ${name}, vocabulary ${vocabulary}, rows: ${rows}`,
        kernel: 'sample',
        vocabulary,
        rows,
      },
      {
        // As the engine replays it: what no row needs is skipped.
        capacity: {
          sampled: rows,
          drawn: Number(choice.temperature > 0),
          cut: Number(choice.topK > 0 || choice.topP < 1),
        },
        bytes: 4 * rows * vocabulary,
        record: (tape) =>
          sample(new Tensor(['sampled', vocabulary], 'f32', { tape, region: logits.region }), batch),
      },
    );
    launches.device.free(choices.buffer);
  }
  for (const { buffer } of [logits.region, none, sampled, ids]) launches.device.free(buffer);
}

/** Numbers near a normal distribution of deviation 3, as logits are. */
function normalNumbers(count) {
  let state = 1;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  return Float32Array.from(
    { length: count },
    () => 3 * (next() + next() + next() + next() - 2) * Math.sqrt(3),
  );
}
