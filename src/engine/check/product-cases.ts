// Checks of products with weights: rows of a decode step and rows of prompts, in formats that are decoded differently, and experts.

import { linear, linearSwiglu } from '../../kernels/matmul.ts';
import { expertLinear, expertSwiglu } from '../../kernels/expert-matmul.ts';
import { planExperts } from '../../kernels/expert-plan.ts';
import { expertSum } from '../../kernels/expert-sum.ts';
import type { FormatName } from '../../kernels/formats.ts';
import { expertParts, interleaved, stacked } from '../../kernels/matrix.ts';
import { route } from '../../kernels/route.ts';
import type { KernelCase } from './kernel-case.ts';

const [COLUMNS, K] = [96, 256];
const DECODE_ROWS = 3;
const PROMPT_ROWS = 40;

/** Numbers, integers with scales of one and of two levels, tables, floats, and points of lattices. */
const DECODED = [
  ...(['f16', 'int8', 'int4', 'q4_k', 'q6_k', 'iq4_xs', 'mxfp4'] as const),
  ...(['iq1_m', 'iq2_s', 'iq3_s'] as const),
] satisfies readonly FormatName[];
const PROMPTS: readonly FormatName[] = ['f16', 'int4', 'q4_k', 'iq2_s'];

/** Codes of 8 and of 4 bits, with a minimum, and with two scales a block. */
const INTEGERS: readonly FormatName[] = ['int8', 'q4_k', 'q6_k'];
/** Values under one scale. */
const BLOCK = 32;

type Phase = 'decode' | 'prompt';

const rowsOf = (phase: Phase): number => (phase === 'decode' ? DECODE_ROWS : PROMPT_ROWS);
const nameOf = (phase: Phase): string => (phase === 'decode' ? 'rows of a decode step' : 'rows of a prompt');

function inPhase(name: string, phase: Phase, prepare: KernelCase['prepare']): KernelCase {
  const rows = rowsOf(phase);
  return {
    name: `${name}, ${nameOf(phase)}`,
    sizes: { rows },
    ...(phase === 'decode' && { decodes: ['rows'] }),
    prepare,
  };
}

function product(format: FormatName, phase: Phase): KernelCase {
  return inPhase(`product in ${format}`, phase, (inputs) => {
    const rows = rowsOf(phase);
    const x = inputs.tensor(['rows', K], inputs.numbers(rows * K), rows);
    const weight = inputs.matrix(format, COLUMNS, K);
    return { record: (tape) => linear(x(tape), weight) };
  });
}

/** Products of activations in 8 bits: each block's largest value is 127 times a number of which all others are multiples, so that rounding changes none. */
function integerProduct(format: FormatName, phase: Phase): KernelCase {
  const name = `product of 8 bits in ${format}`;
  const checked = inPhase(name, phase, (inputs) => {
    const rows = rowsOf(phase);
    const numbers = inputs
      .numbers(rows * K)
      .map((value, i) => (i % BLOCK === 0 ? 127 : Math.round(126 * value)));
    const x = inputs.tensor(['rows', K], numbers, rows);
    const weight = inputs.matrix(format, COLUMNS, K);
    return { record: (tape) => linear(x(tape), weight) };
  });
  return { ...checked, activations: 'int8' };
}

function gatedProduct(phase: Phase): KernelCase {
  return inPhase('gated product in int4', phase, (inputs) => {
    const rows = rowsOf(phase);
    const x = inputs.tensor(['rows', K], inputs.numbers(rows * K), rows);
    const gateUp = inputs.matrix('int4', 2 * COLUMNS, K, { parts: interleaved('gate', 'up', COLUMNS) });
    return { record: (tape) => linearSwiglu(x(tape), gateUp) };
  });
}

function experts(phase: Phase): KernelCase {
  const [hidden, ffn, count] = [64, 32, 4];
  return inPhase('experts in int4', phase, (inputs) => {
    const rows = rowsOf(phase);
    const each = Array.from({ length: count }, (_, i) => i);
    const x = inputs.tensor(['rows', hidden], inputs.numbers(rows * hidden), rows);
    const logits = inputs.tensor(['rows', count], inputs.numbers(rows * count), rows);
    const gateUps = inputs.matrix('int4', 2 * ffn * count, hidden, {
      experts: count,
      parts: expertParts(each.map((i) => interleaved(`gate ${i}`, `up ${i}`, ffn))),
    });
    const downs = inputs.matrix('int4', hidden * count, ffn, {
      experts: count,
      parts: expertParts(each.map((i) => stacked([{ name: `down ${i}`, rows: hidden }]))),
    });
    const added = inputs.numbers(rows * hidden);
    return {
      record(tape) {
        const routes = route(logits(tape), { chosen: 2, normed: true }, null);
        const plan = planExperts(routes);
        const y = expertLinear(expertSwiglu(x(tape), plan, gateUps), plan, downs);
        // The experts' sums are added in place, so that each tape needs a residual of its own.
        const residual = inputs.tensor(['rows', hidden], added, rows)(tape);
        return expertSum(y, routes.shares, plan, residual);
      },
    };
  });
}

export const PRODUCT_CASES: readonly KernelCase[] = [
  ...DECODED.map((format) => product(format, 'decode')),
  ...PROMPTS.map((format) => product(format, 'prompt')),
  ...INTEGERS.map((format) => integerProduct(format, 'decode')),
  ...INTEGERS.map((format) => integerProduct(format, 'prompt')),
  gatedProduct('decode'),
  gatedProduct('prompt'),
  experts('decode'),
  experts('prompt'),
];
