// The prefix cache in npm run bench: its cases, the timing of their requests, and their figures as lines.

import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { syntheticCheckpoint } from './checkpoint.mjs';
import { line, percent, pick } from './table.mjs';

/** @param {[name: string, folder: string][]} shipped */
export function cacheCases(shipped) {
  return [
    ...shipped.map(([name, folder]) => ({
      name: `cache, 8 clients × 6 turns, ${name}`,
      measure: (run) => run('measure-cache.mjs', '--conversations', folder),
      lines: conversationLines,
      kernels: () => [],
    })),
    {
      name: 'cache, 2,000 shared tokens, llama-250m f16',
      measure(run) {
        const storage = mkdtempSync(join(tmpdir(), 'svc-pages-'));
        try {
          const first = run('measure-cache.mjs', '--tiers', syntheticCheckpoint(), storage);
          return { ...first, ...run('measure-cache.mjs', '--restart', syntheticCheckpoint(), storage) };
        } finally {
          rmSync(storage, { recursive: true });
        }
      },
      lines: tierLines,
      kernels: () => [],
    },
  ];
}

/** Random tokens, the same for the same seed. */
export function tokensOf(model, count, seed) {
  let state = Math.imul(seed, 2654435761) >>> 0;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % model.info.vocabSize;
  });
}

/** Milliseconds until the first token, the ids, and where the prompt was found. */
export async function firstToken(model, ids, maxTokens = 1) {
  const begun = now();
  let first = null;
  let cached = null;
  const said = [];
  const request = { prompt: { ids }, maxTokens, ignoreEos: true, temperature: 0 };
  for await (const event of model.generate(request)) {
    if (event.type === 'prefill') cached = event.cached;
    if (event.type !== 'delta') continue;
    const at = now();
    first ??= { wall: at.wall - begun.wall, quiet: at.quiet - begun.quiet };
    said.push(...event.ids);
  }
  return { first, cached, ids: said };
}

/** Milliseconds of wall time, and of CPU time divided by the number of cores. */
export function now() {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), quiet: (user + system) / 1000 / availableParallelism() };
}

function conversationLines({ on, off, adapter }) {
  const rate = pick({ adapter });
  return [
    line('hit rate', percent(on.hitRate), 'of all prompt tokens'),
    line(
      'first token, median',
      `${on.firstMs.median.toFixed(0)} ms`,
      `${off.firstMs.median.toFixed(0)} ms without: ${times(off.firstMs.median / on.firstMs.median)} as long, wall clock`,
    ),
    line(
      'first token, worst',
      `${on.firstMs.worst.toFixed(0)} ms`,
      `${off.firstMs.worst.toFixed(0)} ms without: ${times(off.firstMs.worst / on.firstMs.worst)} as long, wall clock`,
    ),
    line(
      'all conversations',
      `${(rate(on.whole) / 1000).toFixed(1)} s`,
      `${(rate(off.whole) / 1000).toFixed(1)} s without: ${times(rate(off.whole) / rate(on.whole))} as long`,
    ),
  ];
}

function tierLines(result) {
  const rate = pick(result);
  const { shared, fresh, rounds, fileRounds } = result;
  const found = (name, tier, rounds) => {
    // The ratio to the time of the new tokens alone in the same round.
    const ratio = (round) => rate(round[tier].first) / rate(round.alone.first);
    const sorted = rounds.toSorted((a, b) => ratio(a) - ratio(b));
    const median = sorted[sorted.length >> 1];
    const { device, host, storage } = median[tier].cached;
    const span =
      rounds.length === 1
        ? ''
        : ` (${[sorted[0], sorted.at(-1)].map((r) => ratio(r).toFixed(2)).join(' to ')})`;
    return line(
      `after ${shared}, from ${name}`,
      `${rate(median[tier].first).toFixed(0)} ms`,
      `${ratio(median).toFixed(2)} times the new tokens alone${span}; found ${device} on the device, ${host} on the host, ${storage} in storage`,
    );
  };
  const alone = rounds.map((round) => rate(round.alone.first)).sort((a, b) => a - b)[rounds.length >> 1];
  return [
    line(`${fresh} new tokens alone`, `${alone.toFixed(0)} ms`, 'until the first token'),
    found('device', 'device', rounds),
    found('host', 'host', rounds),
    found('files', 'file', fileRounds.slice(1)),
    found('files after a restart', 'file', fileRounds.slice(0, 1)),
  ];
}

function times(ratio) {
  return `${ratio.toFixed(1)} times`;
}
