// The figures of one image model as lines of text: a step, its products and its attention, and the decoder beside their limits, whole images,
// memory by stage beside the planned one.

import { availableParallelism } from 'node:os';
import { line, mebibytes, percent, pick } from './table.mjs';

/** @returns {{ name: string, value: string, note: string }[]}; `measured`: 'step', or 'step' and 'decode' */
export function imageLines(result, measured) {
  const { cold, best, work, ceilings, first, ready, planned } = result;
  const time = pick(result);
  const arithmetic = (flops, taken) => {
    const rate = flops / time(taken) / 1e6;
    const share = `${rate.toFixed(1)} GFLOP/s, ${percent(rate / ceilings.gflops)} of the FMA peak`;
    return `${operations(flops)}, ${share}; ${seconds(taken.wall)} by the clock`;
  };
  const { values } = best;
  const forwards = work.forwards === 1 ? 'one forward' : `${work.forwards} forwards`;
  const decoding = best.stages.decoding;
  const all = measured.includes('decode');
  const stages = Object.entries(best.stages).filter(([name]) => all || name === 'denoising');
  const compiling = (cold.first.total.quiet - first.total.quiet) * availableParallelism();
  const peaks = stages.map(([, { peakBytes }]) => peakBytes);
  const plannedOf = (name) => planned.stages.find((stage) => stage.name === name).bytes;
  const peakNotes = stages.map(
    ([name, { peakBytes }]) => `${name} ${mebibytes(peakBytes)} of ${mebibytes(plannedOf(name))} planned`,
  );
  return [
    line('step', seconds(time(best.step)), `${forwards}, ${arithmetic(work.step, best.step)}`),
    ...sharesOfStep(result),
    ...(all && work.decode !== null
      ? [line('decoding', seconds(time(decoding)), arithmetic(work.decode, decoding))]
      : []),
    ...(all ? [picture(best, time)] : []),
    line(
      'first picture, cold',
      seconds(cold.first.total.wall),
      `shader cache empty, by the clock; ${compilingNote(compiling)}`,
    ),
    line(
      'first picture, warm',
      seconds(first.total.wall),
      `${values.steps} steps, by the clock; ready after ${seconds(ready.wall)}`,
    ),
    line('peak of GPU memory', mebibytes(Math.max(...peaks)), peakNotes.join(', ')),
    line('pipelines', String(cold.pipelines), 'of a whole picture, those that pack weights among them'),
  ];
}

/** The difference of a cold and a warm run; below zero the runs differed by more than compiling takes. */
const compilingNote = (ms) =>
  ms > 0 ? `compiling takes ${seconds(ms)} of CPU` : 'compiling takes less than two runs differ by';

/** Kernels that multiply matrices; convolutions among them. */
const PRODUCTS = /^(matmul|conv2d|winograd)/;
const ATTENTION = /^attend/;

/** The products and the attention of a step apart, by the times of their kernels; each dispatch was in a pass of its own. */
function sharesOfStep({ kernels, work, ceilings }) {
  if (!kernels) return [];
  const all = kernels.step.reduce((sum, { ms }) => sum + ms, 0);
  const part = (name, pattern, flops) => {
    const ms = kernels.step
      .filter((kernel) => pattern.test(kernel.name))
      .reduce((sum, kernel) => sum + kernel.ms, 0);
    const rate = flops / ms / 1e6;
    const share = `${rate.toFixed(1)} GFLOP/s, ${percent(rate / ceilings.gflops)} of the FMA peak`;
    return line(
      name,
      seconds(ms),
      `${operations(flops)}, ${share}; ${percent(ms / all)} of the kernels' time`,
    );
  };
  return [
    part('products of a step', PRODUCTS, work.step - work.attention),
    part('attention of a step', ATTENTION, work.attention),
  ];
}

function picture({ values, total, stages }, time) {
  const parts = Object.entries(stages).map(([name, taken]) => `${name} ${seconds(time(taken))}`);
  return line(
    'picture',
    seconds(time(total)),
    `${values.steps} steps: ${parts.join(', ')}; ${seconds(total.wall)} by the clock`,
  );
}

/** @returns {{ title: string, kernels: object[] }[]} */
export function imageKernels({ kernels }, measured) {
  if (!kernels) return [];
  const titles = { step: 'a step', decode: 'decoding', text: 'text encoding' };
  return Object.entries(titles)
    .filter(([part]) => part === 'step' || measured.includes('decode'))
    .map(([part, what]) => ({
      title: `${what}, each dispatch in a pass of its own`,
      kernels: kernels[part],
    }));
}

function seconds(ms) {
  return ms >= 1000 ? `${(ms / 1000).toFixed(ms >= 10000 ? 1 : 2)} s` : `${ms.toFixed(0)} ms`;
}

function operations(flops) {
  return flops >= 1e11 ? `${(flops / 1e12).toPrecision(3)} TFLOP` : `${(flops / 1e9).toPrecision(3)} GFLOP`;
}
