// The figures of grammars as lines of text.

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
