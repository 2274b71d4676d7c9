// The figures of grammars as lines of text.

import { line, percent, pick } from './table.mjs';

/** @returns {{ name: string, value: string, note: string }[]} */
export function grammarLines({ tokens, vocabularyMs, cases }) {
  const micro = (ms) => `${(ms * 1000).toFixed(0)} µs`;
  return [
    {
      name: 'vocabulary',
      value: `${vocabularyMs.toFixed(0)} ms`,
      note: `${tokens} tokens, once a model, as it opens`,
    },
    ...cases.map(({ name, compileMs, firstMs, masks, accepts }) => ({
      name,
      value: micro(masks.median),
      note: `a mask in the median of ${masks.count}, 95 % under ${micro(masks.p95)}, most ${masks.most.toFixed(1)} ms; compiled in ${compileMs.toFixed(0)} ms, first mask ${firstMs.toFixed(1)} ms, a token taken in ${micro(accepts.median)}`,
    })),
  ];
}

/** @returns {{ name: string, value: string, note: string }[]} */
export function constrainedLines(result) {
  const rate = pick(result);
  return result.cases.map(({ name, batch, pairs }) => {
    const shares = pairs.map(({ free, held }) => rate(held) / rate(free)).toSorted((a, b) => a - b);
    const middle = pairs[pairs.length >> 1];
    return line(
      `${name}, batch ${batch}`,
      percent(shares[shares.length >> 1]),
      `of the free speed in the median of ${pairs.length} pairs, ${percent(shares[0])} to ${percent(shares.at(-1))}; ` +
        `${rate(middle.held).toFixed(1)} and ${rate(middle.free).toFixed(1)} tok/s, ${middle.held.perStep.toFixed(2)} and ${middle.free.perStep.toFixed(2)} tokens a step`,
    );
  });
}
