// Checks of convolutions, norms and sampling. Norms and sampling have one form, so that JavaScript judges them.

import { choiceWords } from './choice-words.ts';
import { Tensor } from '../../gpu/tensor.ts';
import { conv2d } from '../../kernels/conv2d.ts';
import { groupnorm } from '../../kernels/groupnorm.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { normConv } from '../../kernels/norm-conv.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { sample } from '../../kernels/sample.ts';
import type { KernelCase } from './kernel-case.ts';
import type { KernelInputs } from './kernel-inputs.ts';

const EPS = 1e-5;
const [ROWS, COLUMNS] = [5, 200];

const IMAGE = { height: 12, width: 10, channels: 40, out: 96 };

function convolution(kernel: 1 | 3): KernelCase {
  return {
    name: `convolution of ${kernel} × ${kernel}`,
    sizes: {},
    prepare(inputs) {
      const { x, weight } = imageInputs(inputs, kernel);
      return { record: (tape) => conv2d(x(tape), weight) };
    },
  };
}

/** A norm may write what the convolution reads in a form of its own. */
const NORM_CONVOLUTION: KernelCase = {
  name: 'GroupNorm and convolution of 3 × 3',
  sizes: {},
  prepare(inputs) {
    const { x, weight } = imageInputs(inputs, 3);
    const [gain, bias] = [1, 2].map(() => inputs.tensor([IMAGE.channels], inputs.numbers(IMAGE.channels)));
    return {
      record: (tape) =>
        normConv(x(tape), { weight: gain!(tape), bias: bias!(tape) }, weight, {
          groups: 8,
          eps: EPS,
          silu: true,
        }),
    };
  },
};

function imageInputs(inputs: KernelInputs, kernel: 1 | 3) {
  const { height, width, channels, out } = IMAGE;
  const x = inputs.tensor([1, height, width, channels], inputs.numbers(height * width * channels));
  return { x, weight: inputs.matrix('f32', out, channels, { kernel }) };
}

/** Normalizes each run of `size` values of x: by its mean if `isCentred`, and by its deviation. */
function normalized(x: Float32Array, size: number, isCentred: boolean): number[] {
  return Array.from(x, (value, i) => {
    const run = x.subarray(Math.floor(i / size) * size, (Math.floor(i / size) + 1) * size);
    const mean = isCentred ? run.reduce((sum, one) => sum + one, 0) / size : 0;
    const variance = run.reduce((sum, one) => sum + (one - mean) ** 2, 0) / size;
    return (value - mean) / Math.sqrt(variance + EPS);
  });
}

const NORMS: readonly KernelCase[] = [
  {
    name: 'RMSNorm',
    sizes: { rows: ROWS },
    prepare(inputs) {
      const [numbers, gains] = [inputs.numbers(ROWS * COLUMNS), inputs.numbers(COLUMNS)];
      const x = inputs.tensor(['rows', COLUMNS], numbers, ROWS);
      const weight = inputs.tensor([COLUMNS], gains);
      return {
        record: (tape) => rmsnorm(x(tape), weight(tape), EPS),
        expected: normalized(numbers, COLUMNS, false).map((value, i) => value * gains[i % COLUMNS]!),
      };
    },
  },
  {
    name: 'LayerNorm',
    sizes: { rows: ROWS },
    prepare(inputs) {
      const numbers = inputs.numbers(ROWS * COLUMNS);
      const [gains, offsets] = [inputs.numbers(COLUMNS), inputs.numbers(COLUMNS)];
      const x = inputs.tensor(['rows', COLUMNS], numbers, ROWS);
      const [weight, bias] = [gains, offsets].map((values) => inputs.tensor([COLUMNS], values));
      return {
        record: (tape) => layernorm(x(tape), { weight: weight!(tape), bias: bias!(tape) }, EPS),
        expected: normalized(numbers, COLUMNS, true).map(
          (value, i) => value * gains[i % COLUMNS]! + offsets[i % COLUMNS]!,
        ),
      };
    },
  },
  {
    name: 'GroupNorm',
    sizes: {},
    prepare(inputs) {
      // One group, so that an image's values follow each other.
      const [height, width, channels] = [9, 11, 32];
      const numbers = inputs.numbers(height * width * channels);
      const [gains, offsets] = [inputs.numbers(channels), inputs.numbers(channels)];
      const x = inputs.tensor([1, height, width, channels], numbers);
      const [weight, bias] = [gains, offsets].map((values) => inputs.tensor([channels], values));
      return {
        record: (tape) =>
          groupnorm(x(tape), { weight: weight!(tape), bias: bias!(tape) }, { groups: 1, eps: EPS }),
        expected: normalized(numbers, numbers.length, true).map(
          (value, i) => value * gains[i % channels]! + offsets[i % channels]!,
        ),
      };
    },
  },
];

const VOCABULARY = 1009;
/** Choices that leave the likeliest token only. */
const CHOICES = [
  { temperature: 0, topP: 1, topK: 0 },
  { temperature: 0.8, topP: 1, topK: 1 },
  { temperature: 0.8, topP: 1e-6, topK: 0 },
];

const SAMPLING: KernelCase = {
  name: 'sampling',
  sizes: { sampled: CHOICES.length },
  prepare(inputs) {
    const rows = CHOICES.length;
    const numbers = inputs.numbers(rows * VOCABULARY).map((value) => 9 * value);
    const logits = inputs.tensor(['sampled', VOCABULARY], numbers, rows);
    const unused = inputs.region(new Uint32Array(4));
    const ids = inputs.region(new Uint32Array(64));
    const sampled = inputs.region(new Uint32Array(4));
    const choices = inputs.region(choiceWords(CHOICES));
    return {
      record(tape) {
        sample(logits(tape), { choices, biases: unused, counts: unused, sampled, ids });
        return new Tensor([1, rows], 'u32', { region: ids, tape });
      },
      expected: Array.from({ length: rows }, (_, row) => {
        const own = numbers.subarray(row * VOCABULARY, (row + 1) * VOCABULARY);
        return own.indexOf(Math.max(...own));
      }),
    };
  },
};

export const OTHER_CASES: readonly KernelCase[] = [
  convolution(3),
  convolution(1),
  NORM_CONVOLUTION,
  ...NORMS,
  SAMPLING,
];
