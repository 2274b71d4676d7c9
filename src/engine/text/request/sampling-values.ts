// The sampling values of a sequence: those of the request, else of the model's generation_config.json, else the defaults.

import { MASKED } from '../../../kernels/sample.ts';
import { mapSampling, SAMPLING } from '../../../options/text-request.ts';
import type { SequenceSampling } from '../step/step-part.ts';
import type { SamplingOptions, TextRequest } from '../calls/text-model.ts';

/** `defaults`: the model's own values. A temperature below a millionth is taken as 0, which is greedy. */
export function readSampling(
  request: TextRequest,
  defaults: Required<SamplingOptions>,
  stopIds: ReadonlySet<number>,
): Omit<SequenceSampling, 'seedLow' | 'seedHigh'> {
  const values = mapSampling((name) => request[name] ?? defaults[name]);
  const biases = new Map(
    Object.entries(request.logitBias ?? {}).map(([token, value]) => [Number(token), value]),
  );
  const masked = [...stopIds].map((id) => [id, MASKED] as const);
  return {
    ...values,
    temperature: values.temperature < 1e-6 ? 0 : values.temperature,
    frequencyPenalty: request.frequencyPenalty ?? SAMPLING.frequencyPenalty.default,
    presencePenalty: request.presencePenalty ?? SAMPLING.presencePenalty.default,
    bias: [...biases],
    biasBelowMin: [...new Map([...biases, ...masked])],
    logprobs: request.logprobs ?? null,
  };
}

/** The 64-bit seed of a choice: the request's for the first one, mixed with the choice's number for the others. */
export function choiceSeed(seed: number, choice: number): { seedLow: number; seedHigh: number } {
  const wide = BigInt.asUintN(64, BigInt(seed));
  const high = Number(wide >> 32n);
  return {
    seedLow: Number(wide & 0xffffffffn),
    seedHigh: (high ^ Math.imul(choice, 0x9e3779b9)) >>> 0,
  };
}
