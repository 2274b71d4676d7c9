// The figures of one model as lines of text, each beside its limit and the share that is reached.

const STEPS_AT_FIRST = 12;

/** @returns {{ name: string, value: string, note: string }[]} */
export function lines(result) {
  const { cold, warm, prefill, decode, steps, ceilings, memory } = result;
  const rate = pick(result);
  const { gflops, gbytes } = ceilings;
  const perPromptToken = (2 * (steps.weightsRead - steps.headWeights)) / 1e9;
  const perToken = (2 * steps.weightsRead) / 1e9;
  const bytes = steps.bytesRead / 1e9;
  const arithmetic = (speed, each) =>
    `${(speed * each).toFixed(1)} GFLOP/s, ${percent((speed * each) / gflops)} of the FMA peak`;
  const reading = (speed) =>
    `${(speed * bytes).toFixed(2)} GB/s of weights, ${percent((speed * bytes) / gbytes)} of the load peak`;
  const far = rate(steps.far);
  return [
    line('prefill, 512 tokens', tokens(rate(prefill)), arithmetic(rate(prefill), perPromptToken)),
    line('decode, batch 1', tokens(rate(decode[1])), reading(rate(decode[1]))),
    line('decode, batch 4', tokens(rate(decode[4])), arithmetic(rate(decode[4]), perToken)),
    line('decode, batch 16', tokens(rate(decode[16])), arithmetic(rate(decode[16]), perToken)),
    line(
      'decode at 4,096 tokens',
      tokens(far),
      `${percent(1 - far / rate(steps.near))} less than at 128, step by step`,
    ),
    line('first token after 512', milliseconds(prefill.firstTokenMs), 'wall clock'),
    line(
      'first token, cold start',
      milliseconds(cold.firstTokenMs),
      `shader cache empty; ready after ${milliseconds(cold.readyMs)}`,
    ),
    line(
      'first token, warm start',
      milliseconds(warm.firstTokenMs),
      `ready after ${milliseconds(warm.readyMs)}`,
    ),
    line(
      'GPU memory',
      mebibytes(memory.weights + memory.kv + memory.arena),
      `weights ${mebibytes(memory.weights)}, pages ${mebibytes(memory.kv)}, rest ${mebibytes(memory.arena)}`,
    ),
    line('dispatches a token', String(steps.dispatches), `${steps.layers} layers`),
    line(
      'JavaScript a token',
      `${steps.warmJsMs.toFixed(2)} ms`,
      `writing the step, encoding and submitting it, optimized (${steps.callsMs.toFixed(2)} ms are calls of WebGPU); ${steps.jsMs.toFixed(2)} ms within the first ${STEPS_AT_FIRST} steps`,
    ),
    line('pipelines', String(steps.pipelines), 'of all row capacities'),
  ];
}

/** On a software adapter other programs share the cores, so rates for idle cores are shown. */
export function pick({ adapter }) {
  return (rate) => (adapter.software ? rate.quiet : rate.wall);
}

export function line(name, value, note) {
  return { name, value, note };
}

function tokens(rate) {
  return `${rate >= 100 ? rate.toFixed(0) : rate.toFixed(1)} tok/s`;
}

function milliseconds(ms) {
  return ms >= 10000 ? `${(ms / 1000).toFixed(1)} s` : `${ms.toFixed(0)} ms`;
}

export function mebibytes(bytes) {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

export function percent(share) {
  return `${(100 * share).toFixed(0)} %`;
}
