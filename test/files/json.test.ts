import { describe, expect, it } from 'vitest';
import { MOST_CONTAINERS, MOST_DEPTH, parseJson } from '../../src/files/json.ts';

describe('JSON of foreign files', () => {
  it('takes the numbers that Python writes, in objects, in lists and alone', () => {
    const text =
      '{"a": NaN, "b": [Infinity, -Infinity, NaN, 1e400], "c": {"d": [[-Infinity]]}, "e": -1.5e-3}';
    expect(parseJson(text)).toEqual({
      a: NaN,
      b: [Infinity, -Infinity, NaN, Infinity],
      c: { d: [[-Infinity]] },
      e: -0.0015,
    });
    expect(parseJson(' NaN\n')).toBeNaN();
  });

  it('leaves strings alone, beside such numbers and without them', () => {
    const value = { a: 'x: NaN, [Infinity]', 'b: NaN': '"\\: -Infinity', c: 'é😀\t' };
    expect(parseJson(JSON.stringify(value))).toEqual(value);
    expect(parseJson(`[NaN,${JSON.stringify(value)},"\\u00e9\\ud83d"]`)).toEqual([NaN, value, 'é\ud83d']);
  });

  it('agrees with JSON.parse on every kind of value, with and without a NaN beside it', () => {
    const samples = [
      '0',
      '-0',
      '12',
      '1.5',
      '-2e+10',
      'true',
      'false',
      'null',
      '""',
      '[]',
      '{}',
      '[ 1 , [ ] ]',
    ];
    for (const sample of samples) {
      expect(parseJson(sample)).toEqual(JSON.parse(sample));
      expect(parseJson(`[NaN,${sample}]`)).toEqual([NaN, JSON.parse(sample)]);
      expect(parseJson(`{"x":NaN,"y":${sample}}`)).toEqual({ x: NaN, y: JSON.parse(sample) });
    }
  });

  it('skips a byte order mark', () => {
    expect(parseJson('\ufeff{"a":1}')).toEqual({ a: 1 });
    expect(parseJson('\ufeff[NaN]')).toEqual([NaN]);
  });

  it.each(['{"__proto__":{"x":1},"y":2}', '{"__proto__":{"x":1},"y":2,"z":NaN}'])(
    'makes __proto__ a key like any other: %s',
    (text) => {
      const value = parseJson(text) as object;
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.keys(value)).toContain('__proto__');
      expect('x' in value).toBe(false);
    },
  );

  it.each([
    ['{"a":1,\n "b":}', 'line 2, column 6: a value is expected, and there is "}"'],
    ['{"a":1', 'line 1, column 7: "," or "}" is expected, and the file ends'],
    ['[1 2]', 'line 1, column 4: "," or "]" is expected, and there is "2]"'],
    ['{a:1}', 'line 1, column 2: a key in quotes is expected, and there is "a:1}"'],
    ['{"a" 1}', 'line 1, column 6: ":" is expected, and there is "1}"'],
    ['{} x', 'line 1, column 4: the end of the file is expected, and there is "x"'],
    ['"abc', 'line 1, column 1: a closing quote for this string is expected, and there is "\\"abc"'],
    ['["\\x"]', 'line 1, column 2: a string with a control character or an escape that JSON does not have'],
    ['', 'line 1, column 1: a value is expected, and the file ends'],
    ['{"a":nan}', 'line 1, column 6: a value is expected, and there is "nan}"'],
    ['[+Infinity]', 'line 1, column 2: a value is expected, and there is "+Infinity]"'],
    ['[01]', 'line 1, column 2: a value is expected, and there is "01]"'],
    ['[1,]', 'line 1, column 4: a value is expected, and there is "]"'],
  ])('says where %j is wrong', (text, message) => {
    expect(() => parseJson(text)).toThrow(new SyntaxError(message));
  });

  it('bounds depth and containers before it builds anything', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(() => parseJson(nested(MOST_DEPTH))).not.toThrow();
    expect(() => parseJson(nested(MOST_DEPTH + 1))).toThrow('column 129: more than 128 levels of nesting');
    expect(() => parseJson('[{"a":'.repeat(1_000_000))).toThrow('more than 128 levels');
    expect(() => parseJson(`[${'[],'.repeat(MOST_CONTAINERS)}0]`)).toThrow(
      'more than 4000000 objects and lists',
    );
    expect(parseJson(`["${'[{'.repeat(1000)}"]`)).toEqual(['[{'.repeat(1000)]);
  });
});
