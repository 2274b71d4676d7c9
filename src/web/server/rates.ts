// Tokens per second over the last minutes, from the counts that /server_info gives.

import { computed, signal } from '@preact/signals';
import { refreshServerInfo, type ServerInfo, serverInfo, serverProblem } from '../api/server-info.ts';

interface Sample {
  /** Milliseconds since 1970. */
  at: number;
  /** Generated tokens of each model, by its first name. */
  tokens: ReadonlyMap<string, number>;
}

export interface Rate {
  at: number;
  tokensPerSecond: number;
}

/** Milliseconds that the chart shows. */
export const SHOWN_TIME = 300_000;

const samples = signal<readonly Sample[]>([]);

/** Asks the server for its state, and remembers its counts. */
export async function takeSample(): Promise<void> {
  await refreshServerInfo();
  const info = serverInfo.value;
  if (!info || serverProblem.value !== '') return;
  const at = Date.now();
  samples.value = [
    ...samples.value.filter((one) => at - one.at < SHOWN_TIME),
    { at, tokens: countsOf(info) },
  ];
}

const countsOf = ({ models }: ServerInfo): Map<string, number> =>
  new Map(models.map(({ names, metrics }) => [names[0] ?? '', metrics?.generatedTokens ?? 0]));

/** The rate between each sample and the one before it. */
export const rates = computed<Rate[]>(() =>
  samples.value.slice(1).map((sample, before) => {
    const last = samples.value[before]!;
    return {
      at: sample.at,
      tokensPerSecond: (1000 * grown(last, sample)) / Math.max(1, sample.at - last.at),
    };
  }),
);

/** Tokens between two samples; a model that was opened anew counts from 0. */
function grown(before: Sample, after: Sample): number {
  let sum = 0;
  for (const [name, tokens] of after.tokens) {
    const earlier = before.tokens.get(name) ?? tokens;
    sum += tokens < earlier ? tokens : tokens - earlier;
  }
  return sum;
}
