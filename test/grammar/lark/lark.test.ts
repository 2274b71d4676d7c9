import { describe, expect, it } from 'vitest';
import { larkToRegex, regexToRegex } from '../../../src/grammar/lark/lark.ts';
import { APPLY_PATCH } from '../../server/responses/codex-request.ts';

function fits(grammar: string, text: string): boolean {
  return new RegExp(`^(?:${larkToRegex(grammar, 'g')})$`, 'u').test(text);
}

describe('the grammar of patches', () => {
  it.each([
    '*** Begin Patch\n*** Add File: a b.txt\n+x\n+\n*** End Patch',
    '*** Begin Patch\n*** Delete File: a\n*** End Patch\n',
    '*** Begin Patch\n*** Update File: a\r\n*** Move to: b\n@@ class A\n@@\n-x.\n+y\n z\n*** End of File\n*** Delete File: c\n*** End Patch',
  ])('takes %j', (text) => {
    expect(fits(APPLY_PATCH, text)).toBe(true);
  });

  it.each([
    '*** Begin Patch\n*** End Patch',
    '*** Begin Patch\n*** Add File: a\n*** End Patch',
    '*** Begin Patch\n*** Update File: a\nx\n*** End Patch',
    '*** Begin Patch\n*** Delete File: \n*** End Patch',
    ' *** Begin Patch\n*** Delete File: a\n*** End Patch',
  ])('refuses %j', (text) => {
    expect(fits(APPLY_PATCH, text)).toBe(false);
  });
});

it.each([
  ['start: "a" | "b" "c"', ['a', 'bc'], ['ac', 'b']],
  ['start: ("a" | "b") "c"', ['ac', 'bc'], ['a']],
  ['start: "a"\n  | "b" -> two\n  | "c"', ['a', 'b', 'c'], ['two']],
  ['start: ["a"] "b"? "c"* "d"+', ['d', 'abccdd'], ['ab', '']],
  ['start: ("ab") ~ 2 X ~ 1..2\nX: "."', ['abab.', 'abab..'], ['ab.', 'abab', 'ababx']],
  ['start: "Ä*"i', ['Ä*', 'ä*'], ['ÄÄ']],
  ['start: "0".."7" "+".."-"', ['0+', '7-', '3,'], ['8+', '0.']],
  ['start: A\nA.2: B "/"\nB: /[.a-c]/', ['./', 'b/'], ['d/', 'b']],
  ['start: /a.b/ /a.b/s', ['a\rba\nb'], ['a\nba\nb']],
  ['start: /a\\/\\.[^.]/', ['a/.x'], ['a/..', 'a/xx']],
  ['start: /[^]]+[]a][^]b.]/', ['x]c', '[a\n'], [']]c', 'xxc', 'x].', 'x]]']],
  ['start: /a{,2}[\\]\\[b&-]/', ['aa]', '[', 'a&', '-'], ['aaa]', 'a{,2}b']],
  ['start: "\\"\\\\\\n\\t\\u00e4\\x41\\d"', ['"\\\n\täA\\d'], ['"']],
  [
    '// a\n?start: _SEP item (_SEP item)* // b\n!item: INT\n_SEP: ";"\n%import common.INT',
    [';1;23'],
    ['1', ';'],
  ],
  ['start: N C\n%import common.NEWLINE -> N\n%import common.CNAME\nC: CNAME', ['\r\n\na_1'], ['a']],
  ['start: "a" #b\n', ['a'], ['a #b']],
])('the Lark grammar %j', (grammar, taken, refused) => {
  expect(taken.map((text) => fits(grammar, text))).toEqual(taken.map(() => true));
  expect(refused.map((text) => fits(grammar, text))).toEqual(refused.map(() => false));
});

it.each([
  ['start: item\nitem: "(" item ")" | "x"', 'has the rule item, which uses itself'],
  ['start: a b', 'uses a, which it does not define'],
  ['top: "a"', 'uses start, which it does not define'],
  ['start: "a"\n%ignore " "', 'has %ignore where a rule should begin'],
  ['start: a\n%import python.STRING', 'imports what is not here'],
  ['start: A\n%import .more.A', 'imports what is not here'],
  ['start: ("a"', 'has a bracket that is not closed; add )'],
  ['start: ["a")', 'has a bracket that is not closed; add ]'],
  ['start: "a")', 'has a ) that opens nothing'],
  ['start: /a/im', 'has an expression with the flags im'],
  ['start: /[]/', 'has an expression with [], which is not closed; add ]'],
  ['start: /[a-z&&[^b]]/', 'has an expression with && in a class'],
  ['start: /[[:alpha:]]/', 'has an expression with [ in a class'],
  ['start: /a\\b{end}/', 'has an expression with \\b{'],
  ['start: "a"..', 'has a range without an end'],
  ['start: * "a"', 'has * where it is not read'],
  ['start: x{"a"}\nx{y}: y', 'cannot be read in line 1 from "{'],
  ['start: "a\n', 'cannot be read in line 1 from "\\"a'],
  [
    ['start: a0', ...Array.from({ length: 20 }, (_, at) => `a${at}: a${at + 1} a${at + 1}`), 'a20: "x"'].join(
      '\n',
    ),
    'is longer than 50000 characters once its rules are written out',
  ],
])('the Lark grammar %j is refused', (grammar, message) => {
  const refused = () => larkToRegex(grammar, 'tools.0.format.definition');
  expect(refused).toThrow(`tools.0.format.definition ${message}`);
  expect(refused).toThrow(
    expect.objectContaining({ code: 'unsupported', param: 'tools.0.format.definition' }),
  );
});

it.each([
  ['brackets', `start: ${'('.repeat(5000)}"a"${')'.repeat(5000)}`, 'has brackets and rules over 200 deep'],
  [
    'rules',
    `start: a0\n${Array.from({ length: 3000 }, (_, at) => `a${at}: a${at + 1}`).join('\n')}\na3000: "x"`,
    'has brackets and rules over 200 deep',
  ],
  [
    'sequences',
    `start: ${'A '.repeat(12_000)}\nA: "${'x'.repeat(49_000)}"`,
    'is longer than 50000 characters',
  ],
])('Lark grammars with endless %s are refused', (_, grammar, message) => {
  expect(() => larkToRegex(grammar, 'g')).toThrow(`g ${message}`);
});

it('a choice that grows too long is refused before all of it is written out', () => {
  const grammar = `start: ${'A | '.repeat(4000)}"b"\nA: "${'x'.repeat(49_000)}"`;
  const before = process.memoryUsage().heapUsed;
  expect(() => larkToRegex(grammar, 'g')).toThrow('is longer than 50000 characters');
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 ** 27);
});

it.each([
  ['a|b', '(?:a|b)'],
  ['.{,3}', '(?:[^\\n]{0,3})'],
  ['(?=.*\\d).{8}', '(?=[^\\n]*\\d)[^\\n]{8}'],
])('the regular expression %s between ^ and $ is %s', (pattern, wanted) => {
  expect(regexToRegex(pattern, 'g')).toBe(wanted);
});

it.each([
  ['a(?=b)', 'has look-ahead inside the pattern at character 2'],
  ['.(a', 'has a group that is not closed at character 2'],
])('the regular expression %s is refused as it was written', (pattern, problem) => {
  expect(() => regexToRegex(pattern, 'g')).toThrow(`g: the regular expression "${pattern}" ${problem}`);
});
